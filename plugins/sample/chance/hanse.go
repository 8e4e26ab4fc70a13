package chance

import (
	"cmp"
	"math/rand/v2"
)

// Hanse accepts games in proportion to a power of their weight: with
// probability (weight/max)^gamma, where max is the largest weight of the window
// as it is now, or a fixed threshold above which every game is accepted. With
// weight = number of positions and gamma = 1, one position of each accepted
// game is a uniformly random position of the window. One goroutine at a time.
type Hanse struct {
	Threshold float64 // 0 = the largest weight of the window
	Gamma     float64 // >= 0; 0 accepts every game that has a weight

	largest float64 // weight of the window
}

// Validate reports settings out of range.
func (h *Hanse) Validate() error {
	return cmp.Or(atLeast(0, "hanse_sampling_threshold", h.Threshold), atLeast(0, "hanse_sampling_gamma", h.Gamma))
}

// Reset empties the window.
func (h *Hanse) Reset() { h.largest = 0 }

// Add says that the window holds a game of the given weight.
func (h *Hanse) Add(weight float64) { h.largest = max(h.largest, weight) }

// Max returns the weight that is always accepted, 0 if there is none yet.
func (h *Hanse) Max() float64 {
	if h.Threshold > 0 {
		return h.Threshold
	}
	return h.largest
}

// Probability returns that of accepting a game of a weight: 0 for weight 0.
func (h *Hanse) Probability(weight float64) float64 {
	if !(weight > 0) {
		return 0
	}
	if most := h.Max(); weight < most {
		return Power(weight/most, h.Gamma)
	}
	return 1
}

// Accept tosses for a game of a weight. It draws one number, whatever the
// weight.
func (h *Hanse) Accept(rng *rand.Rand, weight float64) bool {
	return rng.Float64() < h.Probability(weight)
}
