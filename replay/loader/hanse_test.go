package loader

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestHanseProbability(t *testing.T) {
	for _, c := range []struct {
		threshold, gamma, weight, want float64
	}{
		{0, 1, 50, .5}, {0, 1, 100, 1}, {0, 1, 25, .25}, {0, 1, 0, 0}, {0, 1, math.NaN(), 0},
		{0, 2, 50, .25}, {0, .5, 25, .5}, {0, 0, 1, 1}, {0, 0, 0, 0},
		{200, 1, 50, .25}, {40, 1, 50, 1}, {40, 1, 10, .25},
	} {
		h := Hanse{Threshold: c.threshold, Gamma: c.gamma}
		h.Add(100)
		h.Add(30)
		if got := h.Probability(c.weight); got != c.want {
			t.Errorf("threshold %v, gamma %v, weight %v: %v, want %v", c.threshold, c.gamma, c.weight, got, c.want)
		}
	}
	for _, bad := range []Hanse{{Threshold: -1}, {Gamma: -1}, {Gamma: math.NaN()}, {Threshold: math.Inf(1)}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Positions of chunks of different lengths come equally often: a chunk by hanse
// sampling, one of its positions at random. p = 1e-6 (see chiLimit).
func TestHanseUniformPositions(t *testing.T) {
	lengths := []int{3, 40, 17, 80, 1, 9}
	rng := rand.New(rand.NewPCG(12, 0))
	h := Hanse{Gamma: 1}
	total := 0
	for _, n := range lengths {
		h.Add(float64(n))
		total += n
	}
	counts := make([][]int, len(lengths))
	for i, n := range lengths {
		counts[i] = make([]int, n)
	}
	for range 200_000 {
		i := rng.IntN(len(lengths))
		if h.Accept(rng, float64(lengths[i])) {
			counts[i][rng.IntN(lengths[i])]++
		}
	}
	var flat []int
	for _, c := range counts {
		flat = append(flat, c...)
	}
	if x := chiSquare(flat); x > chiLimit(total-1) {
		t.Errorf("chi-square %.1f, at most %.1f: %v", x, chiLimit(total-1), counts)
	}
}
