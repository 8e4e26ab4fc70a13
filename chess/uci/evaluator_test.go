package uci

import (
	"math"
	"math/rand/v2"
	"slices"
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
	if err := (evaluator{&mcts.HashEvaluator{}, 1 / 1.7}).Evaluate(t.Context(), b); err != nil {
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
