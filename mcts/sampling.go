package mcts

import (
	"math"
	"math/rand/v2"
)

// SampleWeights returns an index drawn with probability proportional to
// weights^(1/temperature), or -1 where no weight is above 0; temperature 0 takes the
// largest, the first of equals. It overwrites the weights.
func SampleWeights(weights []float64, temperature float64, rng *rand.Rand) int {
	top := 0
	for i, w := range weights {
		if w > weights[top] {
			top = i
		}
	}
	most := weights[top]
	if !(most > 0) {
		return -1
	}
	if temperature <= 0 {
		return top
	}
	sum := 0.0
	for i, w := range weights { // relative to the largest, so that it cannot overflow
		weights[i] = math.Pow(w/most, 1/temperature)
		sum += weights[i]
	}
	x := rng.Float64() * sum
	for i, w := range weights {
		if x -= w; x < 0 {
			return i
		}
	}
	return top // by rounding
}
