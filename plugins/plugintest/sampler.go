package plugintest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// sampling is a sampler's part of the suite.
type sampling struct {
	*suite
	draws []stage.Draw // over a window that slides
}

// sampler makes the checks of samplers.
func (c *suite) sampler() {
	p := &sampling{suite: c, draws: makeDraws(c.seed)}
	c.do("rows are in the window, as many as asked for, with finite weights", func() error { return c.with(p.rows) })
	c.do("rows are appended, none for n = 0", func() error { return c.with(p.appends) })
	c.doDeterministic("one seed gives one sequence of rows", func() error { return c.with(p.again) })
	c.do("looking at a state changes nothing", func() error { return c.with(p.looks) })
	c.do("from a state any instance goes on bit for bit", p.resumes)
	c.do("a foreign state is refused", func() error { return c.with(p.foreign) })
	c.do("an index without rows is an error", func() error { return c.with(p.empty) })
	c.do("a canceled call ends with context.Canceled", func() error { return c.with(p.cancel) })
}

// makeDraws returns calls over a window that slides, is renewed as a whole, and
// goes back to an older state as it does when a run is taken up again.
func makeDraws(seed uint64) []stage.Draw {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := NewWindow(rng, 48)
	first := w
	var draws []stage.Draw
	for i := range 16 {
		draws = append(draws, stage.Draw{Index: w, Rows: []int{1, 7, 64, 256}[i%4]})
		switch i {
		case 4: // unchanged
		case 7:
			w = w.Slide(rng, w.NumGames(), 40)
		case 11:
			w = first.Slide(rng, 3, 5)
		default:
			w = w.Slide(rng, rng.IntN(6), 1+rng.IntN(8)) // another window in any case
		}
	}
	return draws
}

// chain is a sampler whose draws each begin where the one before ended.
type chain struct {
	stage.Sampler
	at stage.Draw // of the next draw, without Index and Rows
}

// from returns a chain that begins with the sequence (seed, stream).
func (p *sampling) from(s stage.Sampler, stream uint64) *chain {
	return &chain{s, stage.Draw{Seed: p.seed, Stream: stream}}
}

// make1 draws d.Rows rows of d.Index and holds them against it.
func (p *sampling) make1(c *chain, d stage.Draw) ([]stage.RowRef, error) {
	next := c.at
	next.Index, next.Rows = d.Index, d.Rows
	given := bytes.Clone(next.State)
	refs, state, err := c.Sample(p.ctx, next, nil)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(next.State, given) {
		return nil, errors.New("the draw wrote into the state that it was given")
	}
	c.at.State = state
	if len(refs) != d.Rows {
		return nil, fmt.Errorf("%d rows came, want %d", len(refs), d.Rows)
	}
	for k, ref := range refs {
		if !stage.Holds(d.Index, ref.Game, ref.Ply) {
			return nil, fmt.Errorf("row %d: game %d, ply %d is not in the window", k, ref.Game, ref.Ply)
		}
		if w := float64(ref.Weight); !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("row %d: weight %g, want a finite number >= 0", k, w)
		}
	}
	return refs, nil
}

// makeAll makes the draws from number from on.
func (p *sampling) makeAll(c *chain, from int) ([][]stage.RowRef, error) {
	var all [][]stage.RowRef
	for i, d := range p.draws[from:] {
		refs, err := p.make1(c, d)
		if err != nil {
			return nil, fmt.Errorf("draw %d: %w", from+i, err)
		}
		all = append(all, refs)
	}
	return all, nil
}

// equalRows says whether rows are the same to the bit.
func equalRows(a, b stage.RowRef) bool {
	return a.Game == b.Game && a.Ply == b.Ply && math.Float32bits(a.Weight) == math.Float32bits(b.Weight)
}

// compareDraws names the first row in which two sequences of draws differ.
func compareDraws(got, want [][]stage.RowRef, from int) error {
	for i := range want {
		for k := range want[i] {
			if !equalRows(got[i][k], want[i][k]) {
				return fmt.Errorf("draw %d, row %d: %+v, want %+v", from+i, k, got[i][k], want[i][k])
			}
		}
	}
	return nil
}

// rows makes all draws and keeps them as output.
func (p *sampling) rows(st Stage) error {
	all, err := p.makeAll(p.from(st.Sampler, 1), 0)
	for i, refs := range all {
		data, err := binary.Append(nil, binary.LittleEndian, refs)
		if err != nil {
			return err
		}
		p.keep(fmt.Sprintf("draw %d", i), data)
	}
	return err
}

// appends passes rows that are there already.
func (p *sampling) appends(st Stage) error {
	before := []stage.RowRef{{Game: 1 << 40, Ply: -3, Weight: 0.5}, {Game: 7, Ply: 9}}
	for _, n := range []int{5, 0} {
		refs, _, err := st.Sampler.Sample(p.ctx, stage.Draw{Index: p.draws[0].Index, Rows: n}, slices.Clone(before))
		if err != nil {
			return err
		}
		if len(refs) != len(before)+n || !slices.EqualFunc(refs[:2], before, equalRows) {
			return fmt.Errorf("%d rows after %d: %d came, the first are %v, want %v", n, len(before), len(refs), refs[:min(2, len(refs))], before)
		}
	}
	return nil
}

// again makes the draws with two instances of one seed.
func (p *sampling) again(st Stage) error {
	want, err := p.makeAll(p.from(st.Sampler, 2), 0)
	if err != nil {
		return err
	}
	return p.with(func(other Stage) error {
		got, err := p.makeAll(p.from(other.Sampler, 2), 0)
		if err != nil {
			return fmt.Errorf("another instance: %w", err)
		}
		return compareDraws(got, want, 0)
	})
}

// empty draws from a window without games, then as usual.
func (p *sampling) empty(st Stage) error {
	nothing := NewWindow(rand.New(rand.NewPCG(p.seed, 2)), 0)
	if refs, _, err := st.Sampler.Sample(p.ctx, stage.Draw{Index: nothing, Rows: 3}, nil); err == nil {
		return fmt.Errorf("%v came out of it", refs)
	}
	_, err := p.make1(p.from(st.Sampler, 7), p.draws[0])
	return err
}

// cancel draws with a context that is over, then as usual.
func (p *sampling) cancel(st Stage) error {
	d := stage.Draw{Index: p.draws[0].Index, Rows: 3}
	if _, _, err := st.Sampler.Sample(p.canceled(), d, nil); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("error %v, want context.Canceled", err)
	}
	_, err := p.make1(p.from(st.Sampler, 8), p.draws[0])
	return err
}

// look asks whether a state is one of the sampler's and returns it as it comes back.
func (p *sampling) look(s stage.Sampler, state []byte) ([]byte, error) {
	refs, again, err := s.Sample(p.ctx, stage.Draw{State: state}, nil)
	if err == nil && len(refs) > 0 {
		err = fmt.Errorf("%d rows came with it", len(refs))
	}
	return again, err
}

// looks looks at a state.
func (p *sampling) looks(st Stage) error {
	c := p.from(st.Sampler, 3)
	if _, err := p.make1(c, p.draws[0]); err != nil {
		return err
	}
	again, err := p.look(c, c.at.State)
	if err == nil && !bytes.Equal(again, c.at.State) {
		err = fmt.Errorf("the state changed from %d bytes %.32x to %d bytes %.32x", len(c.at.State), c.at.State, len(again), again)
	}
	return err
}

// resumes keeps the state in the middle of the draws, and compares how the instance
// goes on from it with another one, which has drawn something else before, and with
// itself once more.
func (p *sampling) resumes() error {
	for _, half := range []int{0, 6, 9, 13} {
		err := p.with(func(st Stage) error {
			c := p.from(st.Sampler, 4)
			for i, d := range p.draws[:half] {
				if _, err := p.make1(c, d); err != nil {
					return fmt.Errorf("draw %d: %w", i, err)
				}
			}
			at := c.at
			want, err := p.makeAll(c, half)
			if err != nil {
				return err
			}
			if err := p.goesOn(st, at, want, half); err != nil {
				return fmt.Errorf("the same instance: %w", err)
			}
			return p.with(func(other Stage) error { return p.goesOn(other, at, want, half) })
		})
		if err != nil {
			return fmt.Errorf("state of draw %d: %w", half, err)
		}
	}
	return nil
}

// goesOn draws from a state with an instance that has a history of its own.
func (p *sampling) goesOn(st Stage, at stage.Draw, want [][]stage.RowRef, half int) error {
	if _, err := p.make1(p.from(st.Sampler, 5), p.draws[2]); err != nil {
		return err
	}
	got, err := p.makeAll(&chain{st.Sampler, at}, half)
	if err != nil {
		return err
	}
	return compareDraws(got, want, half)
}

// foreign offers states that are none.
func (p *sampling) foreign(st Stage) error {
	c := p.from(st.Sampler, 6)
	if _, err := p.make1(c, p.draws[0]); err != nil {
		return err
	}
	offers := map[string][]byte{"noise": []byte("\xff\x00\xfeno state\x80")}
	if n := len(c.at.State); n > 1 {
		offers["a state without its last byte"] = c.at.State[:n-1]
	}
	for what, state := range offers {
		if _, err := p.look(c, state); err == nil {
			return fmt.Errorf("%s: it was taken", what)
		}
	}
	_, err := p.make1(c, p.draws[1])
	return err
}
