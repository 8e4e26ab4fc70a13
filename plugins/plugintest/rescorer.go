package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// numRandomGames is how many games of Games a rescorer gets, beside the edge
// games.
const numRandomGames = 96

// rescoring is a rescorer's part of the suite: the games and what became of
// them when each was passed on its own.
type rescoring struct {
	*suite
	games  []*record.Game
	before [][]byte // the games' encodings
	after  [][]byte // those of the outcomes
}

// rescorer makes the checks of rescorers.
func (c *suite) rescorer() {
	r := &rescoring{suite: c, games: append(EdgeGames(c.seed), Games(c.seed, numRandomGames)...)}
	for _, g := range r.games {
		r.before = append(r.before, mustEncode(g))
	}
	c.do("games stay valid and keep moves, ids, ends and results of the whole game", func() error { return c.with(r.singles) })
	if r.after == nil {
		return // nothing to compare with
	}
	c.doDeterministic("equal games give equal outcomes, in any order", func() error { return c.with(r.again) })
	c.do("a batch gives what single calls give, in order", func() error { return c.with(r.batches) })
	c.do("calls at the same time do not disturb each other", func() error { return c.with(r.concurrent) })
	c.do("a canceled call ends with context.Canceled and changes nothing", func() error { return c.with(r.cancel) })
	c.do("a call that is canceled under way leaves the stage usable", func() error { return c.with(r.cancelUnderWay) })
}

// mustEncode returns the bytes of one of the suite's own games.
func mustEncode(g *record.Game) []byte {
	data, err := record.Append(nil, g)
	if err != nil {
		panic(fmt.Sprintf("game %d of the suite: %v", g.Ordinal, err))
	}
	return data
}

// singles passes each game on its own.
func (r *rescoring) singles(st Stage) error {
	var after [][]byte
	for i := range r.games {
		data, err := r.pass(st, i)
		if err != nil {
			return err
		}
		after = append(after, data)
		r.keep(r.title(i), data)
	}
	r.after = after
	return nil
}

// pass passes game i on its own and returns the bytes of the outcome.
func (r *rescoring) pass(st Stage, i int) ([]byte, error) {
	out, err := st.Rescorer.Rescore(r.ctx, r.games[i])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.title(i), err)
	}
	return r.examine(i, out)
}

// title names a game in messages.
func (r *rescoring) title(i int) string {
	g := r.games[i]
	return fmt.Sprintf("game %d (%d plies, start %q, end %s)", i, len(g.Plies), g.Start, g.End)
}

// examine holds the outcome of game i against the game and returns its bytes.
func (r *rescoring) examine(i int, out *record.Game) ([]byte, error) {
	g := r.games[i]
	if now := mustEncode(g); !bytes.Equal(now, r.before[i]) {
		return nil, fmt.Errorf("%s: the argument was changed", r.title(i))
	}
	if out == nil {
		return nil, fmt.Errorf("%s: no game came back", r.title(i))
	}
	data, err := record.Append(nil, out)
	if err != nil {
		return nil, fmt.Errorf("%s: the outcome is not valid: %w", r.title(i), err)
	}
	switch {
	case out.ID != g.ID:
		return nil, fmt.Errorf("%s: another game came back: id %x, want %x", r.title(i), out.ID, g.ID)
	case out.Start != g.Start || out.NetID != g.NetID || out.Seed != g.Seed || out.Ordinal != g.Ordinal || out.Flags != g.Flags:
		return nil, fmt.Errorf("%s: start, net id, seed, ordinal or flags changed", r.title(i))
	case out.End != g.End || out.WhiteResult != g.WhiteResult:
		return nil, fmt.Errorf("%s: end %s and result %+d, want %s and %+d", r.title(i), out.End, out.WhiteResult, g.End, g.WhiteResult)
	case !bytes.Equal(out.Extra, g.Extra):
		return nil, fmt.Errorf("%s: extra bytes changed", r.title(i))
	case len(out.Plies) != len(g.Plies):
		return nil, fmt.Errorf("%s: %d plies came back", r.title(i), len(out.Plies))
	}
	for k := range g.Plies {
		if out.Plies[k].Move != g.Plies[k].Move {
			return nil, fmt.Errorf("%s: ply %d: move %v, want %v", r.title(i), k, out.Plies[k].Move, g.Plies[k].Move)
		}
	}
	return data, nil
}

// same holds the bytes of an outcome, if there is no error, against those of singles
// where the stage is deterministic.
func (r *rescoring) same(i int, data []byte, err error) error {
	if err == nil && r.s.Definition.Has(stage.Deterministic) && !bytes.Equal(data, r.after[i]) {
		err = fmt.Errorf("%s: another outcome than before", r.title(i))
	}
	return err
}

// again passes the games in the other direction to another instance.
func (r *rescoring) again(st Stage) error {
	for i := range slices.Backward(r.games) {
		data, err := r.pass(st, i)
		if err := r.same(i, data, err); err != nil {
			return err
		}
	}
	return nil
}

// all are the numbers of all games.
func (r *rescoring) all() []int {
	all := make([]int, len(r.games))
	for i := range all {
		all[i] = i
	}
	return all
}

// batches passes the games together: none, one, one twice, all.
func (r *rescoring) batches(st Stage) error {
	all := r.all()
	for _, which := range [][]int{{}, {2}, {4, 4}, all, {len(all) - 1, 0, 3}} {
		if err := r.batch(r.ctx, st.Rescorer, which); err != nil {
			return fmt.Errorf("batch of %d games: %w", len(which), err)
		}
	}
	return nil
}

// batch passes some of the games in one call, or one after the other where the
// stage has no other way.
func (r *rescoring) batch(ctx context.Context, rescorer stage.Rescorer, which []int) error {
	games := make([]*record.Game, len(which))
	for k, i := range which {
		games[k] = r.games[i]
	}
	out, err := stage.RescoreAll(ctx, rescorer, games)
	if err != nil {
		return err
	}
	for k, i := range which {
		data, err := r.examine(i, out[k])
		if err := r.same(i, data, err); err != nil {
			return err
		}
	}
	return nil
}

// concurrency is how many calls the suite has under way at a time.
func (c *suite) concurrency() int {
	const most = 4
	if n := c.s.Definition.Concurrency; n > 0 {
		return min(n, most)
	}
	return most
}

// concurrent passes games from several goroutines, as many as the description
// allows.
func (r *rescoring) concurrent(st Stage) error {
	workers := r.concurrency()
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(r.games) && errs[w] == nil; i += workers {
				data, err := r.pass(st, i)
				errs[w] = r.same(i, data, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// cancel calls with a context that is over, then as usual.
func (r *rescoring) cancel(st Stage) error {
	for _, i := range []int{2, 4} {
		if _, err := st.Rescorer.Rescore(r.canceled(), r.games[i]); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: error %v, want context.Canceled", r.title(i), err)
		}
		if err := r.batch(r.ctx, st.Rescorer, []int{i}); err != nil {
			return fmt.Errorf("the call after the canceled one: %w", err)
		}
	}
	return nil
}

// cancelUnderWay takes the context away from a batch that has begun, or is
// about to: it ends well or as canceled.
func (r *rescoring) cancelUnderWay(st Stage) error {
	all := r.all()
	for range 3 {
		ctx, cancel := context.WithCancel(r.ctx)
		begun, done := make(chan struct{}), make(chan error, 1)
		go func() {
			close(begun)
			done <- r.batch(ctx, st.Rescorer, all)
		}()
		<-begun
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("error %w, want context.Canceled or none", err)
		}
	}
	return r.batch(r.ctx, st.Rescorer, all)
}
