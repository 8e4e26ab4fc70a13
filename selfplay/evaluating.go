package selfplay

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// evaluate has b answered.
func evaluate(ctx context.Context, ev mcts.Evaluator, b *encoding.Batch) error {
	if err := ev.Evaluate(ctx, b); err != nil {
		return fmt.Errorf("evaluate %d positions: %w", b.N, err)
	}
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
