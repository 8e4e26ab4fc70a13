package train

import (
	"math"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// optimizer changes weights by their gradients: "sgd" is gradient descent with Nesterov
// momentum in the form of Sutskever et al. 2013 that deep-learning libraries use (v =
// mu*v + g; w -= lr*(g + mu*v)), "adamw" is Adam with decoupled weight decay (Loshchilov
// and Hutter 2019, algorithm 2, with the decay scaled by the learning rate), "nadamw" is
// AdamW with the momentum of NAdam (Dozat 2016). Gorgonia's own solvers keep their
// moments private, and its AdamW never changes a weight.
type optimizer struct {
	cfg     *device.Config
	ahead   device.Lookahead
	decay   []bool        // by parameter: AdamW's weight decay touches it
	moments [][][]float32 // velocity, or m and v: by parameter
}

// newOptimizer makes the optimizer of trained parameters.
func newOptimizer(cfg *device.Config, specs []nn.ParamSpec) *optimizer {
	o := &optimizer{cfg: cfg, moments: make([][][]float32, cfg.NumMoments()), ahead: device.Lookahead{Beta1: cfg.Beta1, Decay: cfg.MomentumDecay}}
	for _, s := range specs {
		o.decay = append(o.decay, decays(s))
		for k := range o.moments {
			o.moments[k] = append(o.moments[k], make([]float32, s.Len()))
		}
	}
	return o
}

// step returns what changes the weights w of a piece of a parameter by their gradient g
// in the step with index taken (corrections of the moments depend on it).
func (o *optimizer) step(lr float32, taken int64) func(p piece, w, g []float32) {
	c, m := o.cfg, o.moments[0]
	if len(o.moments) == 1 {
		return func(p piece, w, g []float32) { kernel.SGDNesterov(w, g, m[p.tensor][p.lo:p.hi], lr, c.Momentum, 0) }
	}
	t, v := float64(taken+1), o.moments[1]
	bc1, bc2 := float32(1-math.Pow(c.Beta1, t)), float32(1-math.Pow(c.Beta2, t))
	cm, cg := o.ahead.Shares(taken + 1)
	return func(p piece, w, g []float32) {
		m, v, decay := m[p.tensor][p.lo:p.hi], v[p.tensor][p.lo:p.hi], float32(0)
		if o.decay[p.tensor] {
			decay = c.Decay
		}
		if c.Optimizer == "nadamw" {
			kernel.NAdamW(w, g, m, v, lr, float32(c.Beta1), float32(c.Beta2), c.Epsilon, decay, cm, cg, bc2)
			return
		}
		kernel.AdamW(w, g, m, v, lr, float32(c.Beta1), float32(c.Beta2), c.Epsilon, decay, bc1, bc2)
	}
}
