package cpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/kerneltest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Answers have the same bits when many goroutines share a net, pack their own and
// swap nets, while the runtime interrupts them all. A goroutine of its own for each
// batch starts with a small stack, which grows, and so moves, in the middle.
func TestStress(t *testing.T) {
	goroutines, rounds := 6, 8
	if testing.Short() {
		goroutines, rounds = 3, 2
	}
	for _, name := range []string{"32x2-se", "16x1-mish"} {
		n := testNet(t, name, 4)
		eachTier(t, func(t *testing.T, p kernel.Precision) {
			rounds := rounds
			if kernel.ActiveTier() == kernel.Generic {
				rounds = 1 // has no assembly to interrupt, and takes long
			}
			shared, err := New(n, p)
			if err != nil {
				t.Fatal(err)
			}
			want := randomBatch(9, 21)
			evaluate(t, shared.NewEvaluator(8), want)
			stop := kerneltest.Disturb()
			defer stop()
			var group errgroup.Group
			for g := range goroutines {
				group.Go(func() error { return stressRounds(n, shared, want, rounds, g%2 == 0, p) })
			}
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// stressRounds evaluates batches again and again; with pack it swaps in a net
// packed anew each time.
func stressRounds(n *nn.Net, shared *Net, want *encoding.Batch, rounds int, pack bool, p kernel.Precision) error {
	e := shared.NewEvaluator(8)
	for range rounds {
		b := pick(want, seq(want.N))
		failed := make(chan error, 1)
		go func() {
			if pack {
				own, err := New(n, p)
				if err != nil {
					failed <- err
					return
				}
				e.Swap(own)
			}
			failed <- e.Evaluate(context.Background(), b)
		}()
		if err := <-failed; err != nil {
			return err
		}
		if !equalBits(b.Prior, want.Prior) || !slices.Equal(b.WDL, want.WDL) || !equalBits(b.M, want.M) {
			return errors.New("an interrupted evaluation gave other bits")
		}
	}
	return nil
}

func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
