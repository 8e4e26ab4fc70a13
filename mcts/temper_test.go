package mcts

import (
	"math"
	"testing"
)

// TestTemper holds tempered priors against exact powers.
func TestTemper(t *testing.T) {
	rng := seeded(4)
	for _, temperature := range []float64{0.1, 0.5, 1.3, 2, 10} {
		for range 1000 {
			choices := make([]choice, 1+rng.IntN(40))
			want, sum, before := make([]float64, len(choices)), 0.0, 0.0
			for k := range choices {
				choices[k].prior = float32(math.Exp(-12 * rng.Float64()))
				if rng.IntN(10) == 0 {
					choices[k].prior = 0
				}
			}
			choices[rng.IntN(len(choices))].prior = 1 // one at least is not zero
			for k := range choices {
				p := float64(choices[k].prior)
				before += p
				want[k] = math.Pow(p, 1/temperature)
				sum += want[k]
			}
			temper(choices, float32(1/temperature))
			for k := range choices {
				got, exact := float64(choices[k].prior), want[k]/sum*before
				if exact > 1e-20 && math.Abs(got/exact-1) > 3e-4 || exact <= 1e-20 && got > 1e-3 {
					t.Fatalf("temperature %v: %v, want %v", temperature, got, exact)
				}
			}
		}
	}
}

func BenchmarkTemper(b *testing.B) {
	choices := make([]choice, 32)
	for k := range choices {
		choices[k].prior = 1 / float32(k+1)
	}
	for b.Loop() {
		temper(choices, 1/1.3)
	}
}
