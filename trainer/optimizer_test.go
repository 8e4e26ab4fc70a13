package trainer

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// valueGrad is a parameter for a solver test.
type valueGrad struct{ value, grad *tensor.Dense }

func (v valueGrad) Value() gorgonia.Value         { return v.value }
func (v valueGrad) Grad() (gorgonia.Value, error) { return v.grad, nil }

func makeValueGrad(w, g []float32) valueGrad {
	return valueGrad{
		tensor.New(tensor.WithShape(len(w)), tensor.WithBacking(w)),
		tensor.New(tensor.WithShape(len(g)), tensor.WithBacking(g)),
	}
}

// TestSGDNesterov: two steps worked out by hand, lr .1, mu .5.
func TestSGDNesterov(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Momentum = .5
	o := NewOptimizer(&cfg, []int{1}, []bool{true}, nil)
	o.SetLR(.1)
	w, g := []float32{1}, []float32{2}
	model := []gorgonia.ValueGrad{makeValueGrad(w, g)}
	for _, want := range []float64{
		1 - .1*(2+.5*2),               // v = 2
		1 - .1*(2+.5*2) - .1*(2+.5*3), // v = 3
	} {
		if err := o.Step(model); err != nil {
			t.Fatal(err)
		}
		near(t, "w", float64(w[0]), want, 1e-6)
	}
	if o.Steps() != 2 {
		t.Errorf("Steps = %d", o.Steps())
	}
}

// TestAdamW holds three steps against the formula in float64; the decay touches
// only the parameter that asks for it and does not enter the moments.
func TestAdamW(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Optimizer, cfg.WeightDecay = OptimizerAdamW, .1
	o := NewOptimizer(&cfg, []int{1, 1}, []bool{true, false}, nil)
	o.SetLR(.01)
	w1, w2, g := []float32{2}, []float32{2}, []float32{0}
	model := []gorgonia.ValueGrad{makeValueGrad(w1, g), makeValueGrad(w2, g)}
	ref1, ref2, m, v := 2.0, 2.0, 0.0, 0.0
	for step, grad := range []float64{.5, -.25, 1} {
		g[0] = float32(grad)
		if err := o.Step(model); err != nil {
			t.Fatal(err)
		}
		n := float64(step + 1)
		m = .9*m + .1*grad
		v = .999*v + .001*grad*grad
		change := .01 * (m / (1 - math.Pow(.9, n))) / (math.Sqrt(v/(1-math.Pow(.999, n))) + 1e-8)
		ref1 = ref1*(1-.01*.1) - change
		ref2 -= change
		near(t, "decayed", float64(w1[0]), ref1, 1e-6)
		near(t, "not decayed", float64(w2[0]), ref2, 1e-6)
	}
}

// TestOptimizerRefusesMisfit: nothing is changed when one parameter does not fit.
func TestOptimizerRefusesMisfit(t *testing.T) {
	cfg := DefaultConfig()
	o := NewOptimizer(&cfg, []int{1, 2}, []bool{true, true}, nil)
	o.SetLR(1)
	w := []float32{1}
	if err := o.Step([]gorgonia.ValueGrad{makeValueGrad(w, []float32{1}), makeValueGrad([]float32{1}, []float32{1})}); err == nil {
		t.Error("a parameter of the wrong size was taken")
	}
	if err := o.Step([]gorgonia.ValueGrad{makeValueGrad(w, []float32{1})}); err == nil {
		t.Error("a missing parameter was taken")
	}
	if w[0] != 1 || o.Steps() != 0 {
		t.Errorf("a refused step changed the state: w %v, steps %d", w, o.Steps())
	}
}

func TestClipFactor(t *testing.T) {
	near(t, "below", clipFactor(3, 4), 1, 0)
	near(t, "above", clipFactor(8, 4), .5, 0)
	near(t, "off", clipFactor(1e9, 0), 1, 0)
}

func TestLossScaler(t *testing.T) {
	fixed := newLossScaler(false)
	fixed.update(false)
	near(t, "fp32 scale", fixed.scale, 1, 0)
	s := newLossScaler(true)
	s.update(false)
	near(t, "halved", s.scale, initialLossScale/2, 0)
	for range lossScaleGrowSteps {
		s.update(true)
	}
	near(t, "grown back", s.scale, initialLossScale, 0)
	for range 100 {
		s.update(false)
	}
	near(t, "floor", s.scale, 1, 0)
}

// TestSWA: swa = swa*n/(n+w) + w/(n+w)*model with w = 1, memory bounded by 2.
func TestSWA(t *testing.T) {
	s := swaAverage{cfg: SWAConfig{Period: 2, MaxAverages: 2}}
	model := [][]float32{{0}}
	want := map[int64]float64{
		2: 2, // the first net
		4: 3, // (2+4)/2
		6: 4, // (2*3+6)/3
		8: 4*2.0/3 + 8/3.0,
	}
	for step := int64(1); step <= 8; step++ {
		model[0][0] = float32(step)
		if s.due(step) {
			s.take(model)
			s.entered()
		}
		if w, ok := want[step]; ok {
			near(t, "average", float64(s.params[0][0]), w, 1e-6)
		}
	}
	off := swaAverage{}
	if off.due(1) {
		t.Error("period 0 averages")
	}
}

func TestPoolRunsEachTaskOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5} {
		p := newPool(workers)
		for range 200 {
			counts := make([]int, 17)
			p.run(len(counts), func(i, worker int) {
				counts[i]++
				if worker < 0 || worker >= workers {
					t.Errorf("worker %d of %d", worker, workers)
				}
			})
			for i, n := range counts {
				if n != 1 {
					t.Fatalf("%d workers: task %d ran %d times", workers, i, n)
				}
			}
		}
		p.run(0, func(int, int) { t.Error("a task of none ran") })
		p.close()
		p.close()
	}
}
