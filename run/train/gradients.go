package train

import (
	"errors"
	"fmt"
)

// ErrGradients says that training.halt_on_gradient_norm stopped the run. The
// last checkpoint stands.
var ErrGradients = errors.New("the gradients explode")

// GradientWatch halts a run whose gradients explode, by KataGo's rule: 8 steps
// in a row with a norm above the clipping norm, a quarter of the last 100, or
// one above 50 times it.
type GradientWatch struct {
	Last []bool `json:"last,omitempty"` // of up to 100 steps, oldest first: the norm was above the bound
}

const (
	gradientMemory = 100
	gradientRow    = 8
	gradientShare  = 4  // one of so many
	gradientPeak   = 50 // times the clipping norm
)

// Observe takes a step's norm before clipping and returns ErrGradients when it
// is time to halt.
func (w *GradientWatch) Observe(norm, bound float64) error {
	w.Last = append(w.Last, norm > bound)
	if len(w.Last) > gradientMemory {
		w.Last = w.Last[len(w.Last)-gradientMemory:]
	}
	row, bad := 0, 0
	for _, b := range w.Last {
		row++
		if b {
			bad++
		} else {
			row = 0
		}
	}
	switch {
	case norm > gradientPeak*bound:
		return fmt.Errorf("%w: a norm of %.4g, clip_norm is %.4g", ErrGradients, norm, bound)
	case row >= gradientRow:
		return fmt.Errorf("%w: %d steps in a row had a norm above clip_norm %.4g", ErrGradients, row, bound)
	case len(w.Last) == gradientMemory && bad*gradientShare >= gradientMemory:
		return fmt.Errorf("%w: %d of the last %d steps had a norm above clip_norm %.4g", ErrGradients, bad, gradientMemory, bound)
	}
	return nil
}
