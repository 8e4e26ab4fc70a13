package uci

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// randomBatch returns positions of random games.
func randomBatch(rng *rand.Rand, n int) *encoding.Batch {
	b := encoding.NewBatch(n)
	h := chess.NewHistory(chess.StartBoard())
	var list chess.MoveList
	for b.N < n {
		h.Board().GenerateMoves(&list)
		if h.Terminal(list.N) != chess.NotOver {
			h.Reset(chess.StartBoard())
			continue
		}
		encoding.AppendPosition(b, h, &list)
		h.Push(list.Moves[rng.IntN(list.N)])
	}
	return b
}

// counting counts the positions that it is asked about.
type counting struct {
	mcts.HashEvaluator
	positions atomic.Int64
}

func (c *counting) Evaluate(ctx context.Context, b *encoding.Batch) error {
	c.positions.Add(int64(b.N))
	return c.HashEvaluator.Evaluate(ctx, b)
}

// TestThreadsShareABatch: every thread has its part, and together they answer as
// one does.
func TestThreadsShareABatch(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct{ threads, positions, used int }{
		{1, 7, 1}, {2, 7, 2}, {3, 7, 3}, {4, 2, 2}, {5, 6, 3}, {8, 256, 8}, {3, 1, 1}, {2, 0, 0},
	} {
		b := randomBatch(rng, c.positions)
		want := *b
		want.Prior, want.WDL, want.M = slices.Clone(b.Prior), slices.Clone(b.WDL), slices.Clone(b.M)
		if err := (&mcts.HashEvaluator{}).Evaluate(t.Context(), &want); err != nil {
			t.Fatal(err)
		}
		var nets []*counting
		another := func() mcts.Evaluator {
			nets = append(nets, &counting{})
			return nets[len(nets)-1]
		}
		ev := newEvaluator(another(), another, c.threads, 1)
		if err := ev.Evaluate(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		used, positions := 0, 0
		for _, n := range nets {
			if k := int(n.positions.Load()); k > 0 {
				used, positions = used+1, positions+k
			}
		}
		if len(nets) != c.threads || used != c.used || positions != c.positions {
			t.Errorf("%+v: %d evaluators, %d used, %d positions", c, len(nets), used, positions)
		}
		if !slices.Equal(b.Prior, want.Prior) || !slices.Equal(b.WDL, want.WDL) || !slices.Equal(b.M, want.M) {
			t.Errorf("seed %d, %+v: other answers than of one thread", seed, c)
		}
	}
	broken := &failing{}
	ev := newEvaluator(&mcts.HashEvaluator{}, func() mcts.Evaluator { return broken }, 2, 1)
	if err := ev.Evaluate(t.Context(), randomBatch(rng, 4)); !errors.Is(err, errBroken) {
		t.Errorf("the second thread failed: %v", err)
	}
}

func TestPolicyTemperature(t *testing.T) {
	for _, c := range []struct {
		temperature float64
		prior, want []float32
	}{
		{1, []float32{0.64, 0.36}, []float32{0.64, 0.36}},
		{2, []float32{0.64, 0.36}, []float32{4. / 7, 3. / 7}}, // 0.8 and 0.6
		{0.5, []float32{0.75, 0.25, 0}, []float32{0.9, 0.1, 0}},
		{0.1, []float32{1e-38, 1e-38}, []float32{0.5, 0.5}},
		{10, []float32{1, 0}, []float32{1, 0}},
		{0.1, []float32{0, 0}, []float32{0, 0}},
	} {
		got := slices.Clone(c.prior)
		temper(got, 1/c.temperature)
		for k := range got {
			if math.Abs(float64(got[k]-c.want[k])) > 1e-6 { // float32 in and out
				t.Errorf("%v at %g: %v, want %v", c.prior, c.temperature, got, c.want)
				break
			}
		}
	}
	b, plain := randomBatch(rand.New(rand.NewPCG(1, 2)), 3), randomBatch(rand.New(rand.NewPCG(1, 2)), 3)
	if err := newEvaluator(&mcts.HashEvaluator{}, nil, 1, 1.7).Evaluate(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := (&mcts.HashEvaluator{}).Evaluate(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	for i := range b.N {
		if slices.Equal(b.PriorOf(i), plain.PriorOf(i)) {
			t.Errorf("position %d: the temperature changes nothing", i)
		}
		if !(slices.Max(b.PriorOf(i)) < slices.Max(plain.PriorOf(i))) {
			t.Errorf("position %d: a high temperature makes the best move likelier", i)
		}
	}
}
