package mcts

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSampleWeights compares the frequencies of draws with weight^(1/temperature).
func TestSampleWeights(t *testing.T) {
	const draws, seed = 100000, 9
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, c := range []struct {
		weights     []float64
		temperature float64
		want        []float64
	}{
		{[]float64{1, 0, 3}, 1, []float64{0.25, 0, 0.75}},
		{[]float64{1, 0, 3}, 0.5, []float64{0.1, 0, 0.9}},
		{[]float64{1e-30, 2e-30}, 0.01, []float64{0, 1}},
		{[]float64{0, 10, 30, 0, 60}, 0.5, []float64{0, 1.0 / 46, 9.0 / 46, 0, 36.0 / 46}},
		{[]float64{0, 10, 30, 0, 60}, 1e-9, []float64{0, 0, 0, 0, 1}},
		{[]float64{0, 10, 60, 0, 60}, 0, []float64{0, 0, 1, 0, 0}},
	} {
		counts := make([]float64, len(c.weights))
		for range draws {
			counts[SampleWeights(append([]float64(nil), c.weights...), c.temperature, rng)]++
		}
		for i, want := range c.want {
			// 6 standard deviations; probability 0 must never be drawn.
			if tolerance := 6 * math.Sqrt(want*(1-want)/draws); math.Abs(counts[i]/draws-want) > tolerance {
				t.Errorf("%v at %v: %d drawn with %v, want %v", c.weights, c.temperature, i, counts[i]/draws, want)
			}
		}
	}
	if i := SampleWeights([]float64{0, 0}, 1, rng); i != -1 {
		t.Errorf("of no weights %d is drawn", i)
	}
}
