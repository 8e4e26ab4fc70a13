package selfplay

import (
	"context"

	"github.com/chessbrain/chessbrain/encoding"
)

// pool is a group of games whose leaves make one batch.
type pool struct {
	places int
	active []*game // games under way, in the order in which they began
	batch  *encoding.Batch
}

// newPools shares the places out among number pools; 0 is 1.
func newPools(number, places int) []*pool {
	number = max(number, 1)
	pools := make([]*pool, number)
	for i := range pools {
		n := (places + number - 1 - i) / number
		pools[i] = &pool{places: n, active: make([]*game, 0, n), batch: encoding.NewBatch(n)}
	}
	return pools
}

// roomiest returns the pool with the most free places.
func (w *Worker) roomiest() *pool {
	best := w.pools[0]
	for _, p := range w.pools[1:] {
		if p.places-len(p.active) > best.places-len(best.active) {
			best = p
		}
	}
	return best
}

// lockStep plays with one pool: tree work and network take turns.
func (w *Worker) lockStep(ctx context.Context) error {
	p := w.pools[0]
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.useCurrentNet()
		if !w.fill(ctx) {
			return ctx.Err() // tickets end with the context, too
		}
		if err := w.gather(ctx, p); err != nil {
			return err
		}
		if p.batch.N == 0 {
			continue
		}
		w.lap(&w.cfg.Stats.Tree)
		err := evaluate(ctx, w.net.Evaluator, p.batch)
		w.lap(&w.cfg.Stats.Network)
		if err != nil {
			return err
		}
		if err := w.apply(p); err != nil {
			return err
		}
	}
}

// overlap plays with two pools that take turns: while the batch of one is
// evaluated in a goroutine, the games of the other are worked on. Between two
// evaluations lies no tree work. A batch belongs to that goroutine from submit
// to wait; games and cache are touched here alone.
func (w *Worker) overlap(ctx context.Context) error {
	e := startEvaluating(ctx, &w.cfg.Stats.Network)
	defer e.stop()
	w.useCurrentNet()
	var flying *pool // its batch is being evaluated
	for turn := 0; ; turn ^= 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !w.fill(ctx) {
			return ctx.Err()
		}
		p := w.pools[turn]
		if err := w.gather(ctx, p); err != nil {
			return err
		}
		w.lap(&w.cfg.Stats.Tree)
		landed := flying
		if flying = nil; landed != nil {
			err := e.wait()
			w.lap(&w.cfg.Stats.Wait)
			if err != nil {
				return err
			}
		}
		net := w.cfg.Nets.Current()
		if w.isNew(net) && landed != nil { // before the cache forgets the old weights' answers
			if err := w.apply(landed); err != nil {
				return err
			}
			landed = nil
		}
		w.use(net)
		if p.batch.N > 0 {
			e.submit(net.Evaluator, p.batch)
			flying = p
		}
		if landed != nil {
			if err := w.apply(landed); err != nil {
				return err
			}
		}
	}
}

// apply checks the answers to p's batch and gives them to its games.
func (w *Worker) apply(p *pool) error {
	if err := checkAnswer(p.batch); err != nil {
		return err
	}
	w.cfg.Stats.Batches.Add(1)
	w.cfg.Stats.Evaluations.Add(uint64(p.batch.N))
	for _, g := range p.active {
		g.search.Apply(p.batch)
	}
	w.countCache()
	return nil
}
