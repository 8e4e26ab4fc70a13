package selfplay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// Worker plays many games in lock step. It is used by one goroutine at a time;
// its memory is kept from run to run.
type Worker struct {
	cfg     WorkerConfig
	cache   *mcts.Cache
	pools   []*pool // one, or two that take turns with the network
	free    []*game
	pending []Unfinished // to be gone on with, the first first
	net     Net
	hasNet  bool
	hits    uint64    // cache counts already in the stats
	misses  uint64    //
	since   time.Time // up to when the worker's time is in the stats
}

// NewWorker returns a worker, or says what is wrong with its settings.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Stats = cmp.Or(cfg.Stats, new(Stats))
	w := &Worker{cfg: cfg, cache: mcts.NewCache(cfg.CacheEntries), pending: slices.Clone(cfg.Unfinished)}
	for i := range w.pending {
		if err := w.pending[i].belongsTo(&cfg); err != nil {
			return nil, fmt.Errorf("worker settings: unfinished game %d of %d: %w", i+1, len(w.pending), err)
		}
	}
	w.pools = newPools(cfg.Pools, cfg.Parallel)
	return w, nil
}

// Run makes a worker and runs it. Games that a stop leaves unfinished are lost;
// a caller that wants them makes a Worker.
func Run(ctx context.Context, cfg WorkerConfig) error {
	w, err := NewWorker(cfg)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// Run plays until no game is under way and Tickets has none to begin; then it
// returns nil. Unfinished games are gone on with before tickets are asked for. A
// cancelled context returns ErrStopped with the context's cause. However Run
// ends, no goroutine of it is left, and Unfinished has the games under way.
func (w *Worker) Run(ctx context.Context) error {
	if w.cfg.Tickets == nil || w.cfg.Nets == nil || w.cfg.Sink == nil {
		return errors.New("run self-play worker: tickets, nets and sink are all needed")
	}
	w.since = time.Now()
	defer w.leave()
	err := w.deliverPending(ctx)
	switch {
	case err != nil:
	case len(w.pools) == 1:
		err = w.lockStep(ctx)
	default:
		err = w.overlap(ctx)
	}
	return w.stopped(ctx, err)
}

// Unfinished hands over the games that the last Run left under way, in no
// particular order, with those that it was given and did not come to. A worker
// of the same run seed and process goes on with them. Without this call the
// worker's own next Run does.
func (w *Worker) Unfinished() []Unfinished {
	left := w.pending
	w.pending = nil
	return left
}

// stopped returns err, as ErrStopped if it only says that ctx was cancelled.
func (w *Worker) stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, cause)) {
		return fmt.Errorf("%w: %w", ErrStopped, cause)
	}
	return err
}

// useCurrentNet takes new weights over. No evaluation is under way.
func (w *Worker) useCurrentNet() { w.use(w.cfg.Nets.Current()) }

// use takes net over. New weights make the cache forget the old ones' answers
// and mark the games under way.
func (w *Worker) use(net Net) {
	if w.isNew(net) {
		w.cache.Clear()
		w.cfg.Stats.NetChanges.Add(1)
		for _, p := range w.pools {
			for _, g := range p.active {
				g.netChanged()
			}
		}
	}
	w.net, w.hasNet = net, true
}

// isNew reports whether net are other weights than those in use.
func (w *Worker) isNew(net Net) bool { return w.hasNet && net.Generation != w.net.Generation }

// fill begins games while there are places and tickets, and reports whether any
// game is under way. It begins no more than a quarter of the places at once:
// workers that share tickets start together within a few batches, and none of
// them takes all the games of a short run.
func (w *Worker) fill(ctx context.Context) bool {
	for range (w.cfg.Parallel + 3) / 4 {
		p := w.roomiest()
		if len(p.active) == p.places {
			break
		}
		if n := len(w.pending); n > 0 {
			g := w.place()
			g.resume(&w.cfg, &w.pending[0], w.net)
			w.pending = slices.Delete(w.pending, 0, 1)
			p.active = append(p.active, g)
			w.cfg.Stats.GamesResumed.Add(1)
			continue
		}
		ordinal, ok := w.cfg.Tickets.Next(ctx)
		if !ok {
			break
		}
		g := w.place()
		g.start(&w.cfg, ordinal, w.net)
		p.active = append(p.active, g)
		w.cfg.Stats.GamesStarted.Add(1)
	}
	for _, p := range w.pools {
		if len(p.active) > 0 {
			return true
		}
	}
	return false
}

// place returns a place for one game.
func (w *Worker) place() *game {
	if n := len(w.free); n > 0 {
		g := w.free[n-1]
		w.free = w.free[:n-1]
		return g
	}
	return newGame(&w.cfg.Game, w.cache)
}

// gather brings every game of p to a leaf that waits for the network, one row a
// game; searches that end without one are played out, and games that end go to
// the sink.
func (w *Worker) gather(ctx context.Context, p *pool) error {
	p.batch.Reset()
	kept := p.active[:0]
	for i, g := range p.active {
		goesOn, err := w.advance(ctx, g, p.batch)
		if goesOn {
			kept = append(kept, g)
		} else {
			w.free = append(w.free, g)
		}
		if err != nil {
			p.active = append(kept, p.active[i+1:]...)
			return err
		}
	}
	clear(p.active[len(kept):])
	p.active = kept
	return nil
}

// advance lets g play on until it has a row in the batch. A game that ends goes
// to the sink, and what branches off it goes on in its place; goesOn = false:
// the place is free.
func (w *Worker) advance(ctx context.Context, g *game, b *encoding.Batch) (goesOn bool, err error) {
	for {
		end, err := w.step(ctx, g, b)
		if err != nil || end == record.EndUnknown {
			return true, err
		}
		done := g.finished(end)
		w.cfg.Stats.Shown.look(done.rec)
		if err := w.deliver(ctx, done); err != nil {
			w.keepBranches(g)
			return false, err
		}
		if !g.nextBranch(&w.cfg, w.net) {
			return false, nil
		}
		w.cfg.Stats.GamesStarted.Add(1)
	}
}

// step lets g play on until it has a row in the batch or ends.
func (w *Worker) step(ctx context.Context, g *game, b *encoding.Batch) (record.EndReason, error) {
	for g.search.Gather(b, 1) == 0 {
		if err := ctx.Err(); err != nil { // a game may go far on cached answers
			return record.EndUnknown, err
		}
		w.cfg.Stats.Positions.Add(1)
		visits, _ := g.search.Visits()
		w.cfg.Stats.Visits.Add(uint64(visits - g.begunN))
		if end := g.play(); end != record.EndUnknown {
			return end, nil
		}
		w.cfg.Stats.Shown.look(g.rec)
	}
	return record.EndUnknown, nil
}

// countCache adds the cache's news to the stats.
func (w *Worker) countCache() {
	hits, misses := w.cache.Counts()
	w.cfg.Stats.CacheHits.Add(hits - w.hits)
	w.cfg.Stats.CacheMisses.Add(misses - w.misses)
	w.hits, w.misses = hits, misses
}

// lap adds the time since the last lap to c.
func (w *Worker) lap(c *atomic.Int64) {
	now := time.Now()
	c.Add(int64(now.Sub(w.since)))
	w.since = now
}
