package selfplay

import (
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/record"
)

// Worker plays many games in lock step. It is used by one goroutine at a time;
// its memory is kept from run to run.
type Worker struct {
	cfg        WorkerConfig
	cache      *mcts.Cache
	batch      *encoding.Batch
	active     []*game // games under way, in the order of their tickets
	free       []*game
	noMore     bool // the tickets are used up
	netID      string
	ev         mcts.Evaluator
	generation uint64
	hasNet     bool
	hits       uint64 // cache counts already in the stats
	misses     uint64
}

// NewWorker returns a worker, or says what is wrong with its settings.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Stats == nil {
		cfg.Stats = new(Stats)
	}
	return &Worker{cfg: cfg, cache: mcts.NewCache(cfg.CacheEntries), batch: encoding.NewBatch(cfg.Parallel)}, nil
}

// Run makes a worker and runs it.
func Run(ctx context.Context, cfg WorkerConfig) error {
	w, err := NewWorker(cfg)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// Run plays until the tickets are used up and every game begun is finished;
// then it returns nil. A cancelled context abandons the unfinished games and
// returns ErrStopped with the context's cause.
func (w *Worker) Run(ctx context.Context) error {
	if w.cfg.Tickets == nil || w.cfg.Nets == nil || w.cfg.Sink == nil {
		return errors.New("run self-play worker: tickets, nets and sink are all needed")
	}
	w.noMore = false
	defer w.abandon()
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
		}
		w.useCurrentNet()
		w.fill(ctx)
		w.batch.Reset()
		if err := w.gather(ctx); err != nil {
			return w.stopped(ctx, err)
		}
		if len(w.active) == 0 && w.noMore {
			return nil
		}
		if err := w.evaluate(ctx); err != nil {
			return w.stopped(ctx, err)
		}
	}
}

// stopped returns err, as ErrStopped if it only says that ctx was cancelled.
func (w *Worker) stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, cause)) {
		return fmt.Errorf("%w: %w", ErrStopped, cause)
	}
	return err
}

// abandon drops the games under way.
func (w *Worker) abandon() {
	w.countCache()
	w.cfg.Stats.GamesAbandoned.Add(uint64(len(w.active)))
	w.free = append(w.free, w.active...)
	w.active = w.active[:0]
}

// useCurrentNet takes new weights over: the cache forgets the old ones' answers
// and the games under way are marked.
func (w *Worker) useCurrentNet() {
	id, ev, generation := w.cfg.Nets.Current()
	if w.hasNet && generation != w.generation {
		w.cache.Clear()
		w.cfg.Stats.NetChanges.Add(1)
		for _, g := range w.active {
			g.netChanged()
		}
	}
	w.netID, w.ev, w.generation, w.hasNet = id, ev, generation, true
}

// fill begins games while there are places and tickets.
func (w *Worker) fill(ctx context.Context) {
	for len(w.active) < w.cfg.Parallel && !w.noMore {
		ordinal, ok := w.cfg.Tickets.Next(ctx)
		if !ok {
			w.noMore = true
			return
		}
		var g *game
		if n := len(w.free); n > 0 {
			g, w.free = w.free[n-1], w.free[:n-1]
		} else {
			g = newGame(&w.cfg.Game, w.cache)
		}
		g.start(&w.cfg, ordinal, w.netID)
		w.active = append(w.active, g)
		w.cfg.Stats.GamesStarted.Add(1)
	}
}

// gather brings every game to a leaf that waits for the network, one row a
// game; searches that end without one are played out, and games that end go to
// the sink.
func (w *Worker) gather(ctx context.Context) error {
	kept := w.active[:0]
	for i, g := range w.active {
		end, err := w.step(ctx, g)
		if err != nil {
			w.active = append(kept, w.active[i:]...)
			return err
		}
		if end == record.EndUnknown {
			kept = append(kept, g)
			continue
		}
		if err := w.deliver(ctx, g, end); err != nil {
			w.active = append(kept, w.active[i:]...)
			return err
		}
		w.free = append(w.free, g)
	}
	w.active = kept
	return nil
}

// step lets g play on until it has a row in the batch or ends.
func (w *Worker) step(ctx context.Context, g *game) (record.EndReason, error) {
	for g.search.Gather(w.batch, 1) == 0 {
		if err := ctx.Err(); err != nil { // a game may go far on cached answers
			return record.EndUnknown, err
		}
		w.cfg.Stats.Plies.Add(1)
		w.cfg.Stats.Visits.Add(uint64(g.search.Root().N - g.begunN))
		if end := g.play(); end != record.EndUnknown {
			return end, nil
		}
	}
	return record.EndUnknown, nil
}

// deliver hands a finished game to the sink and counts it.
func (w *Worker) deliver(ctx context.Context, g *game, end record.EndReason) error {
	rec, resigner := g.finish(end), -1
	if g.playOn {
		resigner = g.resigner
	}
	plies, result := len(rec.Plies), rec.WhiteResult // after Put the game is the sink's
	if err := w.cfg.Sink.Put(ctx, rec); err != nil {
		return fmt.Errorf("store game %d: %w", rec.Ordinal, err)
	}
	w.cfg.Stats.finished(plies, end, result, resigner)
	return nil
}

// evaluate has the batch answered and applies it.
func (w *Worker) evaluate(ctx context.Context) error {
	b := w.batch
	if b.N == 0 {
		return nil
	}
	if err := w.ev.Evaluate(ctx, b); err != nil {
		return fmt.Errorf("evaluate %d positions: %w", b.N, err)
	}
	if err := checkAnswer(b); err != nil {
		return err
	}
	w.cfg.Stats.Batches.Add(1)
	w.cfg.Stats.Evaluations.Add(uint64(b.N))
	for _, g := range w.active {
		g.search.Apply(b)
	}
	w.countCache()
	return nil
}

// checkAnswer refuses answers that are no probabilities: a search over NaN
// would go on and mean nothing.
func checkAnswer(b *encoding.Batch) error {
	for i := range b.N {
		wdl, m := b.WDL[i], b.M[i]
		if sum := wdl[0] + wdl[1] + wdl[2]; !(sum > 0.99 && sum < 1.01 && min(wdl[0], wdl[1], wdl[2]) >= 0 && m >= 0 && m < 1e9) {
			return fmt.Errorf("%w: position %d of %d: win/draw/loss %v, moves left %v", ErrEvaluation, i, b.N, wdl, m)
		}
		var sum float32
		for _, p := range b.PriorOf(i) {
			if p < 0 {
				sum = -1
				break
			}
			sum += p
		}
		if !(sum > 0.99 && sum < 1.01) {
			return fmt.Errorf("%w: position %d of %d: the policy sums to %v", ErrEvaluation, i, b.N, sum)
		}
	}
	return nil
}

// countCache adds the cache's news to the stats.
func (w *Worker) countCache() {
	hits, misses := w.cache.Counts()
	w.cfg.Stats.CacheHits.Add(hits - w.hits)
	w.cfg.Stats.CacheMisses.Add(misses - w.misses)
	w.hits, w.misses = hits, misses
}
