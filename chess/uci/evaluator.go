package uci

import (
	"context"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// evaluator applies the policy temperature to what a net says.
type evaluator struct {
	mcts.Evaluator
	exponent float64 // 1 / temperature
}

// Evaluate implements mcts.Evaluator.
func (ev evaluator) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if err := ev.Evaluator.Evaluate(ctx, b); err != nil {
		return err
	}
	if ev.exponent != 1 {
		for i := range b.N {
			temper(b.PriorOf(i), ev.exponent)
		}
	}
	return nil
}

// temper raises the probabilities to a power and makes them sum to 1 again. A
// power below 1 makes them more alike. There is one at least.
func temper(prior []float32, exponent float64) {
	top := float64(slices.Max(prior))
	if !(top > 0) {
		return
	}
	weight := func(p float32) float64 { return math.Pow(float64(p)/top, exponent) } // of the largest, so that not all vanish
	sum := 0.0
	for _, p := range prior {
		sum += weight(p)
	}
	for k, p := range prior {
		prior[k] = float32(weight(p) / sum)
	}
}
