package mcts

import (
	"math"
	"math/rand/v2"
)

// SampleVisits returns an ordinal drawn with probability N^(1/temperature);
// temperature 0 takes the most visited, the first of equals. Visits of all
// zeros give a uniform choice.
func SampleVisits(visits []uint32, temperature float64, rng *rand.Rand) int {
	top := 0
	for i, n := range visits {
		if n > visits[top] {
			top = i
		}
	}
	if visits[top] == 0 {
		return rng.IntN(len(visits))
	}
	if temperature <= 0 {
		return top
	}
	weight := func(n uint32) float64 { // relative to the largest, so that it cannot overflow
		return math.Pow(float64(n)/float64(visits[top]), 1/temperature)
	}
	sum := 0.0
	for _, n := range visits {
		sum += weight(n)
	}
	x := rng.Float64() * sum
	for i, n := range visits {
		if n == 0 {
			continue
		}
		if x -= weight(n); x < 0 {
			return i
		}
	}
	return top
}

// SampleWeights returns an index drawn with probability proportional to
// weights^(1/temperature), temperature > 0, or -1 where no weight is above 0. It
// overwrites the weights.
func SampleWeights(weights []float64, temperature float64, rng *rand.Rand) int {
	top := 0.0
	for _, w := range weights {
		top = max(top, w)
	}
	if !(top > 0) {
		return -1
	}
	sum := 0.0
	for i, w := range weights { // relative to the largest, so that it cannot overflow
		weights[i] = math.Pow(w/top, 1/temperature)
		sum += weights[i]
	}
	x, last := rng.Float64()*sum, -1
	for i, w := range weights {
		if w == 0 {
			continue
		}
		if x -= w; x < 0 {
			return i
		}
		last = i
	}
	return last
}
