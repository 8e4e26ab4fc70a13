package trainer

import "github.com/chessbrain/chessbrain/nn"

// optimizerState is what an optimizer remembers; the device has the arithmetic.
type optimizerState struct {
	moments []moment
	steps   int64 // that it has taken: corrections of the moments depend on it
}

// moment is one tensor of state a trained parameter, such as the velocity.
type moment struct {
	name string
	data [][]float32
}

func newOptimizerState(optimizer string, trained []nn.ParamSpec) (o optimizerState) {
	names := []string{"m", "v"}
	if optimizer == OptimizerSGD {
		names = []string{"velocity"}
	}
	for _, name := range names {
		m := moment{name: name}
		for _, s := range trained {
			m.data = append(m.data, make([]float32, s.Len()))
		}
		o.moments = append(o.moments, m)
	}
	return o
}

// lossScaler keeps fp16 gradients representable: the loss is multiplied by the
// scale before the backward pass and gradients are divided by it. The scale
// halves at a non-finite gradient and doubles after a run of good steps. In
// fp32 it stays 1.
type lossScaler struct {
	dynamic bool
	scale   float64
	good    int64 // good steps since the scale last changed
}

// Bounds and period of the dynamic loss scale.
const (
	initialLossScale   = 65536
	maxLossScale       = 1 << 24
	lossScaleGrowSteps = 2000
)

func newLossScaler(dynamic bool) lossScaler {
	if dynamic {
		return lossScaler{dynamic: true, scale: initialLossScale}
	}
	return lossScaler{scale: 1}
}

// update takes notice of a step's outcome.
func (s *lossScaler) update(finite bool) {
	switch {
	case !s.dynamic:
	case !finite:
		s.scale, s.good = max(s.scale/2, 1), 0
	case s.good+1 >= lossScaleGrowSteps:
		s.scale, s.good = min(s.scale*2, maxLossScale), 0
	default:
		s.good++
	}
}

// swaAverage is the running average of the weights (Izmailov et al. 2018, with
// lczero-training's bounded memory): swa = swa*n/(n+1) + model/(n+1), then n =
// min(MaxAverages, n+1). It averages the running batch-norm statistics too, which
// is only a guess at what the averaged weights would see: RefreshSWA measures them.
type swaAverage struct {
	cfg    SWAConfig
	params [][]float32 // in the order of the net's parameters; nil before the first average
	n      float64     // nets that the average holds, at most cfg.MaxAverages
}

// due says whether the net after step steps enters the average.
func (s *swaAverage) due(step int64) bool { return s.cfg.Period != 0 && step%s.cfg.Period == 0 }

// shares are the factors of the average and of the net that enters it; keep is 0
// for the first.
func (s *swaAverage) shares() (keep, add float32) {
	if s.n == 0 {
		return 0, 1
	}
	return float32(s.n / (s.n + 1)), float32(1 / (s.n + 1))
}

// entered counts a net that entered.
func (s *swaAverage) entered() { s.n = min(float64(s.cfg.MaxAverages), s.n+1) }

// reserve makes room for an average where there is none.
func (s *swaAverage) reserve(like [][]float32) {
	if s.params != nil {
		return
	}
	for _, p := range like {
		s.params = append(s.params, make([]float32, len(p)))
	}
}
