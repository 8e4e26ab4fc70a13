package trainer

import (
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/nn/kernel"
	"gorgonia.org/gorgonia"
)

// Optimizer is a gorgonia.Solver whose state can be saved. Gorgonia's own
// solvers keep their moments private, and its AdamW never changes a weight.
type Optimizer interface {
	gorgonia.Solver
	// SetLR sets the learning rate of the next Step.
	SetLR(lr float64)
	// Moments returns the state tensors by name ("velocity", "m", "v"), one slice
	// per parameter in the order of Step. They are the optimizer's own memory:
	// loading writes into them.
	Moments() []Moment
	// Steps is the number of steps taken; SetSteps restores it (AdamW's bias
	// correction depends on it).
	Steps() int64
	SetSteps(n int64)
}

// Moment is one kind of optimizer state over all parameters.
type Moment struct {
	Name string
	Data [][]float32
}

// NewOptimizer returns the optimizer that cfg names for parameters of the given
// sizes. decay says which of them AdamW's weight decay touches: convolution and
// fully connected weights, not biases, gamma and beta. workers shares the
// parameters out; nil works on one after the other.
func NewOptimizer(cfg *Config, sizes []int, decay []bool, workers Workers) Optimizer {
	if workers == nil {
		workers = func(n int, task func(i, worker int)) {
			for i := range n {
				task(i, 0)
			}
		}
	}
	if cfg.Optimizer == OptimizerAdamW {
		return &adamW{
			workers: workers, m: zeros(sizes), v: zeros(sizes), decay: decay,
			beta1: cfg.Beta1, beta2: cfg.Beta2, epsilon: cfg.Epsilon, weightDecay: cfg.WeightDecay,
		}
	}
	return &sgd{workers: workers, velocity: zeros(sizes), momentum: cfg.Momentum}
}

// Workers runs task for 0 to n-1, several at once, and returns when all are done.
type Workers func(n int, task func(i, worker int))

func zeros(sizes []int) [][]float32 {
	s := make([][]float32, len(sizes))
	for i, n := range sizes {
		s[i] = make([]float32, n)
	}
	return s
}

// sgd is gradient descent with Nesterov momentum in the form of Sutskever et
// al. 2013 that deep-learning libraries use: v = mu*v + g; w -= lr*(g + mu*v).
type sgd struct {
	workers  Workers
	velocity [][]float32
	momentum float64
	lr       float64
	steps    int64
}

func (o *sgd) SetLR(lr float64)  { o.lr = lr }
func (o *sgd) Steps() int64      { return o.steps }
func (o *sgd) SetSteps(n int64)  { o.steps = n }
func (o *sgd) Moments() []Moment { return []Moment{{"velocity", o.velocity}} }

// Step changes the values by their gradients; it implements gorgonia.Solver.
func (o *sgd) Step(model []gorgonia.ValueGrad) error {
	err := eachParam(o.workers, model, o.velocity, func(i int, w, g []float32) {
		kernel.SGDNesterov(w, g, o.velocity[i], float32(o.lr), float32(o.momentum), 0)
	})
	if err == nil {
		o.steps++
	}
	return err
}

// adamW is Adam with decoupled weight decay (Loshchilov and Hutter 2019,
// algorithm 2, with the decay scaled by the learning rate).
type adamW struct {
	workers                            Workers
	m, v                               [][]float32
	decay                              []bool
	beta1, beta2, epsilon, weightDecay float64
	lr                                 float64
	steps                              int64
}

func (o *adamW) SetLR(lr float64)  { o.lr = lr }
func (o *adamW) Steps() int64      { return o.steps }
func (o *adamW) SetSteps(n int64)  { o.steps = n }
func (o *adamW) Moments() []Moment { return []Moment{{"m", o.m}, {"v", o.v}} }

// Step changes the values by their gradients; it implements gorgonia.Solver.
func (o *adamW) Step(model []gorgonia.ValueGrad) error {
	t := float64(o.steps + 1)
	bc1, bc2 := float32(1-math.Pow(o.beta1, t)), float32(1-math.Pow(o.beta2, t))
	err := eachParam(o.workers, model, o.m, func(i int, w, g []float32) {
		decay := float32(0)
		if o.decay[i] {
			decay = float32(o.weightDecay)
		}
		kernel.AdamW(w, g, o.m[i], o.v[i], float32(o.lr), float32(o.beta1), float32(o.beta2), float32(o.epsilon), decay, bc1, bc2)
	})
	if err == nil {
		o.steps++
	}
	return err
}

// eachParam calls f with the values and gradients of every parameter, once all
// have been found to have the size of their state.
func eachParam(workers Workers, model []gorgonia.ValueGrad, state [][]float32, f func(i int, w, g []float32)) error {
	if len(model) != len(state) {
		return fmt.Errorf("optimizer step: %d parameters, state for %d", len(model), len(state))
	}
	w, g := make([][]float32, len(model)), make([][]float32, len(model))
	for i, p := range model {
		grad, err := p.Grad()
		if err != nil {
			return fmt.Errorf("optimizer step: gradient of parameter %d: %w", i, err)
		}
		var okW, okG bool
		w[i], okW = p.Value().Data().([]float32)
		g[i], okG = grad.Data().([]float32)
		if !okW || !okG || len(w[i]) != len(state[i]) || len(g[i]) != len(state[i]) {
			return fmt.Errorf("optimizer step: parameter %d is not %d float32 numbers", i, len(state[i]))
		}
	}
	workers(len(model), func(i, _ int) { f(i, w[i], g[i]) })
	return nil
}

// clipFactor returns the factor that brings a gradient of global norm norm down
// to limit; 1 where it is below, or limit is 0.
func clipFactor(norm, limit float64) float64 {
	if limit == 0 || norm <= limit {
		return 1
	}
	return limit / norm
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
