package train

import (
	"math"
	"math/rand/v2"
	"slices"
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
		o.step(.1, int64(step))(piece{0, 0, 1}, w, g)
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
		change(piece{0, 0, 1}, w1, g)
		change(piece{1, 0, 1}, w2, g)
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

// TestPieces: a step changes a tensor in pieces as it does whole.
func TestPieces(t *testing.T) {
	const n = 2*pieceFloats + 5
	r := rand.New(rand.NewPCG(1, 1))
	start, grads := make([]float32, n), make([]float32, n)
	for i := range n {
		start[i], grads[i] = r.Float32()-.5, r.Float32()-.5
	}
	for _, name := range []string{"sgd", "adamw", "nadamw"} {
		cfg := &device.Config{Optimizer: name, Momentum: .5, Beta1: .9, Beta2: .999, Epsilon: 1e-8, Decay: .1}
		run := func(pieces []piece) []float32 {
			o, w := newOptimizer(cfg, []nn.ParamSpec{{Kind: nn.Weight, Shape: []int{n}}}), slices.Clone(start)
			for step := range int64(3) {
				for _, p := range pieces {
					o.step(.01, step)(p, w[p.lo:p.hi], grads[p.lo:p.hi])
				}
			}
			return w
		}
		whole, pieces := run([]piece{{0, 0, n}}), cut(nil, 0, n)
		if len(pieces) != 3 || !slices.Equal(run(pieces), whole) || slices.Equal(whole, start) {
			t.Errorf("%s: %v change a tensor otherwise than as a whole", name, pieces)
		}
	}
}

// TestNAdamW holds steps against the formulas in float64. Without a momentum decay these
// are optax's: powers of beta1. With one they are PyTorch's, whose products this test
// takes anew in each step.
func TestNAdamW(t *testing.T) {
	const lr, beta1, beta2, eps, decay = .01, .9, .98, 1e-7, .1
	optax := func(n int, m, g float64) float64 {
		return beta1*m/(1-math.Pow(beta1, float64(n+1))) + (1-beta1)*g/(1-math.Pow(beta1, float64(n)))
	}
	torch := func(n int, m, g float64) float64 {
		mu := func(i int) float64 { return beta1 * (1 - .5*math.Pow(.96, .004*float64(i))) }
		product := 1.0
		for i := range n {
			product *= mu(i + 1)
		}
		return mu(n+1)*m/(1-product*mu(n+1)) + (1-mu(n))*g/(1-product)
	}
	for momentumDecay, direction := range map[float64]func(n int, m, g float64) float64{0: optax, .004: torch} {
		cfg := &device.Config{Optimizer: "nadamw", Beta1: beta1, Beta2: beta2, Epsilon: eps, Decay: decay, MomentumDecay: momentumDecay}
		specs := []nn.ParamSpec{{Kind: nn.Weight, Shape: []int{1}}, {Kind: nn.Bias, Shape: []int{1}}}
		o := newOptimizer(cfg, specs)
		w1, w2, g := []float32{2}, []float32{2}, []float32{0}
		ref1, ref2, m, v := 2.0, 2.0, 0.0, 0.0
		for step := range 1000 {
			g[0] = float32(math.Sin(float64(step)) + .3)
			change := o.step(lr, int64(step))
			change(piece{0, 0, 1}, w1, g)
			change(piece{1, 0, 1}, w2, g)
			grad := float64(g[0])
			m = beta1*m + (1-beta1)*grad
			v = beta2*v + (1-beta2)*grad*grad
			by := lr * direction(step+1, m, grad) / (math.Sqrt(v/(1-math.Pow(beta2, float64(step+1)))) + eps)
			ref1 = ref1*(1-lr*decay) - by
			ref2 -= by
			near(t, "decayed", float64(w1[0]), ref1, 1e-5)
			near(t, "not decayed", float64(w2[0]), ref2, 1e-5)
		}
	}
}
