package train

import (
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// TestSGDNesterov: two steps worked out by hand, lr .1, mu .5.
func TestSGDNesterov(t *testing.T) {
	o := newOptimizer(&device.Config{Optimizer: "sgd", Momentum: .5}, []nn.ParamSpec{{Kind: nn.Weight, Shape: []int{1}}})
	w, g := []float32{1}, []float32{2}
	for step, want := range []float64{
		1 - .1*(2+.5*2),               // v = 2
		1 - .1*(2+.5*2) - .1*(2+.5*3), // v = 3
	} {
		o.step(.1, int64(step))(0, w, g)
		near(t, "w", float64(w[0]), want, 1e-6)
	}
}

// TestAdamW holds three steps against the formula in float64; the decay touches
// only weights, not biases, and does not enter the moments.
func TestAdamW(t *testing.T) {
	cfg := &device.Config{Optimizer: "adamw", Beta1: .9, Beta2: .999, Epsilon: 1e-8, Decay: .1}
	o := newOptimizer(cfg, []nn.ParamSpec{{Kind: nn.Weight, Shape: []int{1}}, {Kind: nn.Bias, Shape: []int{1}}})
	w1, w2, g := []float32{2}, []float32{2}, []float32{0}
	ref1, ref2, m, v := 2.0, 2.0, 0.0, 0.0
	for step, grad := range []float64{.5, -.25, 1} {
		g[0] = float32(grad)
		change := o.step(.01, int64(step))
		change(0, w1, g)
		change(1, w2, g)
		n := float64(step + 1)
		m = .9*m + .1*grad
		v = .999*v + .001*grad*grad
		by := .01 * (m / (1 - math.Pow(.9, n))) / (math.Sqrt(v/(1-math.Pow(.999, n))) + 1e-8)
		ref1 = ref1*(1-.01*.1) - by
		ref2 -= by
		near(t, "decayed", float64(w1[0]), ref1, 1e-6)
		near(t, "not decayed", float64(w2[0]), ref2, 1e-6)
	}
}
