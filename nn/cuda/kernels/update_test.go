package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// stepWeights is what a step changes, and what it goes by, on the host.
type stepWeights struct {
	w, g, m, v, swa          []float32
	running, swaRun, pending []float32
	decay                    []byte
}

// newWeights has n numbers, a multiple of 256; some groups of 256 decay.
func newWeights(r *rand.Rand, n, running int) *stepWeights {
	x := &stepWeights{w: normal(r, n, 0.1), g: normal(r, n, 0.3), m: normal(r, n, 0.01), v: normal(r, n, 0.01), swa: normal(r, n, 0.1)}
	for i, v := range x.v {
		x.v[i] = v * v
	}
	x.running, x.swaRun, x.pending = normal(r, running, 1), normal(r, running, 1), normal(r, running, 1)
	x.decay = make([]byte, n/256)
	for i := range x.decay {
		x.decay[i] = byte(i % 2)
	}
	return x
}

// stepRig is the same on a device.
type stepRig struct {
	t       *testing.T
	k       *Set
	s       driver.Stream
	host    *stepWeights
	prepare PrepareGradientArgs
	finish  FinishNormArgs
	step    StepArgs
	keep    KeepRunningArgs
}

func newStepRig(t *testing.T, d driver.Device, k *Set, s driver.Stream, x *stepWeights) *stepRig {
	n, parts := len(x.w), PrepareGradientParts(len(x.w))
	g := &stepRig{t: t, k: k, s: s, host: x}
	g.step = StepArgs{
		W: uploadOf(t, d, s, x.w), G: uploadOf(t, d, s, x.g), M: uploadOf(t, d, s, x.m), V: uploadOf(t, d, s, x.v), Swa: uploadOf(t, d, s, x.swa),
		Decay: uploadOf(t, d, s, x.decay), State: alloc(t, d, 24), N: int32(n),
	}
	g.keep = KeepRunningArgs{
		Pending: uploadOf(t, d, s, x.pending), Running: uploadOf(t, d, s, x.running), Swa: uploadOf(t, d, s, x.swaRun), State: g.step.State, N: int32(len(x.running)),
	}
	g.prepare = PrepareGradientArgs{G: g.step.G, W: g.step.W, Decay: g.step.Decay, Part: alloc(t, d, parts*16), N: int32(n), Scale: 1}
	g.finish = FinishNormArgs{
		Part: g.prepare.Part, Pending: g.keep.Pending, State: g.step.State, Parts: int32(parts), Running: g.keep.N, ObjectiveFinite: 1,
	}
	return g
}

// run ends a step as the trainer does.
func (g *stepRig) run(step func(StepArgs) Launch) StepState {
	g.t.Helper()
	for _, l := range []Launch{PrepareGradient(g.prepare), FinishNorm(g.finish), step(g.step), KeepRunning(g.keep)} {
		run(g.t, g.k, g.s, l)
	}
	return downloadOf[StepState](g.t, g.s, g.step.State, 1)[0]
}

// fetch returns what is on the device.
func (g *stepRig) fetch() *stepWeights {
	n, running := int(g.step.N), int(g.keep.N)
	get := func(p driver.Ptr, n int) []float32 { return downloadOf[float32](g.t, g.s, p, n) }
	return &stepWeights{
		w: get(g.step.W, n), g: get(g.step.G, n), m: get(g.step.M, n), v: get(g.step.V, n), swa: get(g.step.Swa, n),
		running: get(g.keep.Running, running), swaRun: get(g.keep.Swa, running), pending: get(g.keep.Pending, running),
	}
}

// updateSizes are of one part that is not full, and of several with such a one at the end.
var updateSizes = []int{256, 256 * 9, 256 * 37, 256 * 64, 256 * 101}

func TestPrepareGradientAndNorm(t *testing.T) {
	eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
		r := fresh(t)
		for _, n := range updateSizes {
			testPrepareGradient(t, r, d, k, s, n)
		}
	})
}

func testPrepareGradient(t *testing.T, r *rand.Rand, d driver.Device, k *Set, s driver.Stream, n int) {
	x := newWeights(r, n, 7)
	g := newStepRig(t, d, k, s, x)
	g.prepare.Scale, g.prepare.L2, g.finish.ClipNorm = 0.37, 0.01, 0.5
	run(t, g.k, g.s, PrepareGradient(g.prepare))
	run(t, g.k, g.s, FinishNorm(g.finish))
	state, after := downloadOf[StepState](t, g.s, g.step.State, 1)[0], g.fetch()
	squares, half := 0.0, 0.0
	for i := range x.g {
		want := float64(x.g[i] * g.prepare.Scale)
		if x.decay[i/256] != 0 {
			want += float64(g.prepare.L2) * float64(x.w[i])
			half += float64(x.w[i]) * float64(x.w[i]) / 2
		}
		if math.Abs(float64(after.g[i])-want) > 0x1p-24*math.Abs(want) {
			t.Fatalf("n %d: gradient %d is %v, want %v", n, i, after.g[i], want)
		}
		squares += float64(after.g[i]) * float64(after.g[i])
	}
	norm := math.Sqrt(squares)
	if !within(state.GradNorm, norm, 1e-13*norm) || !within(state.HalfSquares, half, 1e-13*half) {
		t.Errorf("n %d: norm %v, half the squares %v; want %v, %v", n, state.GradNorm, state.HalfSquares, norm, half)
	}
	if want := float32(0.5 / norm); state.Finite != 1 || math.Abs(float64(state.Clip-want)) > 1e-7*float64(want) {
		t.Errorf("n %d: clip %v, finite %v; want %v, 1", n, state.Clip, state.Finite, want)
	}
}

// TestClip holds clip at its edges: off, far away, exactly the norm.
func TestClip(t *testing.T) {
	d, k, s := open(t)
	x := newWeights(fresh(t), 256, 1)
	clear(x.g)
	x.g[17], x.g[200] = 3, -4
	for _, c := range []struct{ limit, clip float32 }{{0, 1}, {10, 1}, {5, 1}, {2.5, 0.5}} {
		g := newStepRig(t, d, k, s, x)
		g.finish.ClipNorm = c.limit
		if s := g.run(SGD); s.GradNorm != 5 || s.Clip != c.clip || s.Finite != 1 {
			t.Errorf("clip norm %v: %+v, want norm 5, clip %v, finite 1", c.limit, s, c.clip)
		}
	}
}

// cpuStep is the reference: nn/kernel's steps, tensor by tensor, and the trainer's average.
func cpuStep(x *stepWeights, g *stepRig, state StepState, optimizer string) {
	for i, p := 0, g.prepare; i < len(x.w); i += 256 {
		w, grad, m, v := x.w[i:i+256], x.g[i:i+256], x.m[i:i+256], x.v[i:i+256]
		kernel.Scale(grad, p.Scale)
		decay := float32(0)
		if x.decay[i/256] != 0 {
			kernel.Axpy(grad, p.L2, w)
			decay = g.step.WeightDecay
		}
		if state.Clip != 1 {
			for j := range grad {
				grad[j] *= state.Clip
			}
		}
		a := g.step
		switch optimizer {
		case "nadamw":
			kernel.NAdamW(w, grad, m, v, a.Lr, a.Beta1, a.Beta2, a.Epsilon, decay, a.Cm, a.Cg, a.Correction2)
		case "adamw":
			kernel.AdamW(w, grad, m, v, a.Lr, a.Beta1, a.Beta2, a.Epsilon, decay, a.Correction1, a.Correction2)
		default:
			kernel.SGDNesterov(w, grad, m, a.Lr, a.Momentum, 0)
		}
	}
	average(x.swa, x.w, g.step.SwaKeep, g.step.SwaAdd)
	copy(x.running, x.pending)
	average(x.swaRun, x.running, g.keep.SwaKeep, g.keep.SwaAdd)
}

func average(avg, x []float32, keep, add float32) {
	for i, v := range x {
		switch {
		case add == 0:
		case keep == 0:
			avg[i] = v
		default:
			avg[i] = float32(keep*avg[i]) + float32(add*v) // never fused
		}
	}
}

// TestStepsAsOnCPU takes some steps on both sides, with and without average and
// clipping. They agree bit for bit with the vector code's fused multiply-adds;
// plain Go rounds every product, which shows in the last bits.
func TestStepsAsOnCPU(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	for name, step := range map[string]func(StepArgs) Launch{"sgd": SGD, "adamw": AdamW, "nadamw": NAdamW} {
		t.Run(name, func(t *testing.T) {
			x := newWeights(r, 256*9, 300)
			for i := range x.swa { // until it begins, the average may be anything
				x.swa[i] = float32(math.NaN())
			}
			g := newStepRig(t, d, k, s, x)
			g.prepare.L2, g.prepare.Scale = 1e-3, 0.5
			g.step.Lr, g.step.Momentum = 0.02, 0.9
			g.step.Beta1, g.step.Beta2, g.step.Epsilon, g.step.WeightDecay = 0.9, 0.999, 1e-8, 0.05
			for i := range 4 {
				for j := range x.g {
					x.g[j] = float32(r.NormFloat64())
				}
				for j := range x.pending {
					x.pending[j] = float32(r.NormFloat64())
				}
				must(t, g.s.CopyToDevice(g.step.G, encode(F32, x.g)))
				must(t, g.s.CopyToDevice(g.keep.Pending, encode(F32, x.pending)))
				taken := float64(i + 1)
				g.step.Correction1, g.step.Correction2 = float32(1-math.Pow(0.9, taken)), float32(1-math.Pow(0.999, taken))
				g.step.Cm, g.step.Cg = float32(1+r.Float64()), float32(r.Float64())
				g.finish.ClipNorm = []float32{0, 7}[i%2]
				swa := [][2]float32{{0, 0}, {0, 1}, {0.5, 0.5}, {2. / 3, 1. / 3}}[i]
				g.step.SwaKeep, g.step.SwaAdd, g.keep.SwaKeep, g.keep.SwaAdd = swa[0], swa[1], swa[0], swa[1]
				state := g.run(step)
				if (state.Clip < 1) != (g.finish.ClipNorm > 0) || state.Finite != 1 {
					t.Fatalf("step %d: %+v with clip norm %v", i, state, g.finish.ClipNorm)
				}
				cpuStep(x, g, state, name)
				got := g.fetch()
				compareStep(t, i, "weights", got.w, x.w)
				compareStep(t, i, "first moment", got.m, x.m)
				if name != "sgd" {
					compareStep(t, i, "second moment", got.v, x.v)
				}
				compareStep(t, i, "average", got.swa, x.swa)
				compareStep(t, i, "running", got.running, x.running)
				compareStep(t, i, "running average", got.swaRun, x.swaRun)
			}
		})
	}
}

func compareStep(t *testing.T, step int, what string, got, want []float32) {
	t.Helper()
	tolerance := 0.0
	if kernel.ActiveTier() == kernel.Generic {
		tolerance = 1e-5
	}
	for i, w := range want {
		if math.Abs(float64(got[i]-w)) > tolerance*(1+math.Abs(float64(w))) || (got[i] != got[i]) != (w != w) {
			t.Fatalf("step %d: %s %d is %v, want %v", step, what, i, got[i], w)
		}
	}
}

// TestStepsAgainstFloat64 takes one step from fresh moments in float64.
func TestStepsAgainstFloat64(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	x := newWeights(r, 256*5, 3)
	a := StepArgs{
		Lr: 0.02, Momentum: 0.9, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.05, Correction1: 0.2, Correction2: 0.002,
	}
	lr, momentum, b1, b2, eps := float64(a.Lr), float64(a.Momentum), float64(a.Beta1), float64(a.Beta2), float64(a.Epsilon)
	for _, adamw := range []bool{false, true} {
		g := newStepRig(t, d, k, s, x)
		at := g.step
		g.step = a
		g.step.W, g.step.G, g.step.M, g.step.V, g.step.Swa, g.step.Decay, g.step.State, g.step.N = at.W, at.G, at.M, at.V, at.Swa, at.Decay, at.State, at.N
		step := SGD
		if adamw {
			step = AdamW
		}
		g.run(step)
		got := g.fetch()
		for i := range x.w {
			w, grad, m, v, change := float64(x.w[i]), float64(x.g[i]), float64(x.m[i]), float64(x.v[i]), 0.0
			if adamw {
				m, v = b1*m+(1-b1)*grad, b2*v+(1-b2)*grad*grad
				change = lr*float64(a.WeightDecay)*float64(x.decay[i/256])*w + lr*(m/float64(a.Correction1))/(math.Sqrt(v/float64(a.Correction2))+eps)
			} else {
				m = momentum*m + grad
				change = lr * (grad + momentum*m)
			}
			w -= change
			// a dozen roundings of 2^-24; m is a difference of numbers up to 1
			if math.Abs(float64(got.w[i])-w) > 1e-6*(math.Abs(w)+math.Abs(change)+1) || math.Abs(float64(got.m[i])-m) > 1e-6 || adamw && math.Abs(float64(got.v[i])-v) > 1e-6*v {
				t.Fatalf("adamw %v, weight %d: %v, moments %v, %v; want %v, %v, %v", adamw, i, got.w[i], got.m[i], got.v[i], w, m, v)
			}
		}
	}
}

// TestSkippedStep: whatever is not finite, nothing changes.
func TestSkippedStep(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, spoil := range map[string]func(*stepWeights, *stepRig){
		"NaN gradient":      func(x *stepWeights, g *stepRig) { x.g[700] = nan },
		"infinite gradient": func(x *stepWeights, g *stepRig) { x.g[0] = inf },
		"NaN statistics":    func(x *stepWeights, g *stepRig) { x.pending[1299] = nan },
		"infinite variance": func(x *stepWeights, g *stepRig) { x.pending[3] = -inf },
		"objective":         func(x *stepWeights, g *stepRig) { g.finish.ObjectiveFinite = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			x := newWeights(r, 256*4, 1300) // more statistics than finish_norm has threads
			g := newStepRig(t, d, k, s, x)
			g.step.Lr, g.step.Momentum, g.finish.ClipNorm = 0.1, 0.9, 1
			g.step.Beta1, g.step.Beta2, g.step.Epsilon, g.step.Correction1, g.step.Correction2 = 0.9, 0.999, 1e-8, 0.1, 0.001
			g.step.SwaKeep, g.step.SwaAdd, g.keep.SwaKeep, g.keep.SwaAdd = 0.5, 0.5, 0.5, 0.5
			spoil(x, g)
			must(t, g.s.CopyToDevice(g.step.G, encode(F32, x.g)))
			must(t, g.s.CopyToDevice(g.keep.Pending, encode(F32, x.pending)))
			for _, step := range []func(StepArgs) Launch{SGD, AdamW} {
				if s := g.run(step); s.Finite != 0 {
					t.Errorf("%+v, want not finite", s)
				}
			}
			got := g.fetch()
			for _, c := range [][2][]float32{{got.w, x.w}, {got.m, x.m}, {got.v, x.v}, {got.swa, x.swa}, {got.running, x.running}, {got.swaRun, x.swaRun}} {
				if !identical(c[0], c[1]) {
					t.Fatalf("a skipped step changed %v to %v", c[1][:4], c[0][:4])
				}
			}
			g.keep.State = 0 // nobody to ask: kept whatever it is
			run(t, g.k, g.s, KeepRunning(g.keep))
			if !identical(g.fetch().running, x.pending) {
				t.Error("without a state the running statistics were not kept")
			}
		})
	}
}

// TestAddPart: one product and sum, rounded once; a factor of 1 is a plain sum.
func TestAddPart(t *testing.T) {
	d, k, s := open(t)
	r := fresh(t)
	for _, keep := range []float32{1, 0.9, 0} {
		sum, part := make([]float32, 1001), make([]float32, 1001)
		for i := range sum {
			sum[i], part[i] = r.Float32()-0.5, r.Float32()-0.5
		}
		a := AddPartArgs{Sum: uploadOf(t, d, s, sum), Part: uploadOf(t, d, s, part), N: 1000, Keep: keep}
		run(t, k, s, AddPart(a))
		for i := range sum[:1000] {
			sum[i] = float32(math.FMA(float64(keep), float64(sum[i]), float64(part[i])))
		}
		if got := downloadOf[float32](t, s, a.Sum, 1001); !identical(got, sum) {
			t.Errorf("keep %v: %v, want %v", keep, got[:3], sum[:3])
		}
	}
}

// TestPrepareGradientRounds covers gradients of more parts than one round of the grid.
func TestPrepareGradientRounds(t *testing.T) {
	d, k, s := open(t)
	n := 1024*maxPrepareParts + 256*5
	x := &stepWeights{g: make([]float32, n), w: make([]float32, n), decay: make([]byte, n/256)}
	r := fresh(t)
	want := 0.0
	for i := range x.g {
		x.g[i] = r.Float32()
		want += float64(x.g[i]) * float64(x.g[i])
	}
	parts := PrepareGradientParts(n)
	a := PrepareGradientArgs{G: uploadOf(t, d, s, x.g), W: uploadOf(t, d, s, x.w), Decay: uploadOf(t, d, s, x.decay), Part: alloc(t, d, parts*16), N: int32(n), Scale: 1}
	run(t, k, s, PrepareGradient(a))
	got := 0.0
	for i, p := range downloadOf[float64](t, s, a.Part, 2*parts) {
		if i%2 == 0 {
			got += p
		}
	}
	if parts != maxPrepareParts || !within(got, want, 1e-12*want) {
		t.Errorf("%d parts, sum %v; want %d, %v", parts, got, maxPrepareParts, want)
	}
}
