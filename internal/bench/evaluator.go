package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// constant gives every position the same answer: equal priors, a level game with
// as many draws as decisions, 40 plies left. It costs next to nothing, so that what
// is left is the search.
type constant struct{}

// Evaluate fills Prior, WDL and M.
func (constant) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		prior := b.PriorOf(i)
		p := 1 / float32(len(prior))
		for k := range prior {
			prior[k] = p
		}
		b.WDL[i], b.M[i] = [3]float32{0.25, 0.5, 0.25}, 40
	}
	return nil
}

// timed is an evaluator that notes how long its answers take. The sum may be read
// by any goroutine.
type timed struct {
	mcts.Evaluator
	spent *atomic.Int64 // nanoseconds
}

// Evaluate answers b.
func (t timed) Evaluate(ctx context.Context, b *encoding.Batch) error {
	asked := time.Now()
	err := t.Evaluator.Evaluate(ctx, b)
	t.spent.Add(int64(time.Since(asked)))
	return err
}
