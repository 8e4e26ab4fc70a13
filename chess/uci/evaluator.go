package uci

import (
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// evaluator spreads a batch over threads and applies the policy temperature. It
// is used by one goroutine at a time. Its answers do not depend on the number of
// threads where those of the net do not depend on the batch.
type evaluator struct {
	nets     []mcts.Evaluator // one a thread
	exponent float64          // 1 / temperature
}

// newEvaluator returns an evaluator of so many threads: net, and others like it.
func newEvaluator(net mcts.Evaluator, another func() mcts.Evaluator, threads int, temperature float64) *evaluator {
	ev := &evaluator{nets: []mcts.Evaluator{net}, exponent: 1 / temperature}
	for len(ev.nets) < threads {
		ev.nets = append(ev.nets, another())
	}
	return ev
}

// Evaluate implements mcts.Evaluator.
func (ev *evaluator) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if err := ev.spread(ctx, b); err != nil {
		return err
	}
	if ev.exponent != 1 {
		for i := range b.N {
			temper(b.PriorOf(i), ev.exponent)
		}
	}
	return nil
}

// spread evaluates equal parts of the batch, one a thread.
func (ev *evaluator) spread(ctx context.Context, b *encoding.Batch) error {
	share := (b.N + len(ev.nets) - 1) / len(ev.nets)
	if share == b.N {
		return ev.nets[0].Evaluate(ctx, b)
	}
	group, ctx := errgroup.WithContext(ctx)
	for k, net := range ev.nets {
		lo, hi := k*share, min((k+1)*share, b.N)
		if lo >= hi {
			break
		}
		part := encoding.Batch{
			Format: b.Format, N: hi - lo, Masks: b.Masks[lo:hi], Scalars: b.Scalars[lo:hi], LegalStart: b.LegalStart[lo : hi+1],
			Legal: b.Legal, Prior: b.Prior, WDL: b.WDL[lo:hi], M: b.M[lo:hi],
		}
		group.Go(func() error { return net.Evaluate(ctx, &part) })
	}
	return group.Wait()
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
