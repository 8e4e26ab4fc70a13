package selfplay

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
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

// evaluate has b answered.
func evaluate(ctx context.Context, ev mcts.Evaluator, b *encoding.Batch) error {
	if err := ev.Evaluate(ctx, b); err != nil {
		return fmt.Errorf("evaluate %d positions: %w", b.N, err)
	}
	return nil
}

// Try has ev answer the start position. ErrEvaluation: no game can be played with it.
func Try(ctx context.Context, ev mcts.Evaluator) error {
	start := chess.NewHistory(chess.StartBoard())
	var legal chess.MoveList
	start.Board().GenerateMoves(&legal)
	b := encoding.NewBatch(1)
	encoding.AppendPosition(b, start, &legal)
	if err := evaluate(ctx, ev, b); err != nil {
		return err
	}
	return checkAnswer(b)
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

// evaluating is the goroutine that evaluates for a worker with two pools: at
// most one batch at a time.
type evaluating struct {
	asks    chan ask
	answers chan error // one for each ask
	done    chan struct{}
}

// ask is a batch and who is to answer it.
type ask struct {
	ev    mcts.Evaluator
	batch *encoding.Batch
}

// startEvaluating starts the goroutine; spent gets the nanoseconds that it
// evaluates.
func startEvaluating(ctx context.Context, spent *atomic.Int64) *evaluating {
	e := &evaluating{asks: make(chan ask, 1), answers: make(chan error, 1), done: make(chan struct{})}
	go func() {
		defer close(e.done)
		for a := range e.asks {
			begun := time.Now()
			err := evaluate(ctx, a.ev, a.batch)
			spent.Add(int64(time.Since(begun)))
			e.answers <- err
		}
	}()
	return e
}

// submit has b evaluated; wait must be called before the next submit.
func (e *evaluating) submit(ev mcts.Evaluator, b *encoding.Batch) {
	e.asks <- ask{ev, b}
}

// wait returns when the submitted batch is answered.
func (e *evaluating) wait() error { return <-e.answers }

// stop waits until the goroutine has ended. The answer to a batch that is still
// under way is dropped.
func (e *evaluating) stop() {
	close(e.asks)
	<-e.done
}
