package mcts

import (
	"math"
	"math/rand/v2"
)

// dirichlet fills dst with a sample of the symmetric Dirichlet distribution of
// concentration alpha; it sums to 1.
func dirichlet(dst []float64, alpha float64, rng *rand.Rand) {
	sum := 0.0
	for i := range dst {
		dst[i] = gamma(alpha, rng)
		sum += dst[i]
	}
	if !(sum > 0) { // every sample underflowed: as good as one move taking all
		clear(dst)
		if len(dst) > 0 {
			dst[rng.IntN(len(dst))] = 1
		}
		return
	}
	for i := range dst {
		dst[i] /= sum
	}
}

// gamma returns a sample of the Gamma distribution of the given shape > 0 and
// scale 1, by the method of Marsaglia and Tsang (2000).
func gamma(shape float64, rng *rand.Rand) float64 {
	boost := 1.0
	if shape < 1 { // Gamma(a) = Gamma(a+1) * U^(1/a)
		boost = math.Pow(1-rng.Float64(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := 1 - rng.Float64()
		if math.Log(u) < float64(0.5*x*x)+d-float64(d*v)+float64(d*math.Log(v)) {
			return boost * d * v
		}
	}
}
