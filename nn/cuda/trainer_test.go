package cuda

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/trainer"
)

// batchList is a source of micro-batches, which it hands out in turn, for ever if
// again.
type batchList struct {
	batches []*encoding.TrainBatch
	at      int
	again   bool
}

func (s *batchList) Next(_ context.Context, b *encoding.TrainBatch) error {
	if s.at == len(s.batches) {
		if !s.again {
			return io.EOF
		}
		s.at = 0
	}
	for i := range s.batches[s.at].N {
		b.AppendRow(s.batches[s.at], i)
	}
	s.at++
	return nil
}

func randomBatches(seed uint64, sizes ...int) *batchList {
	rng := rand.New(rand.NewPCG(seed, 7))
	s := &batchList{}
	for _, n := range sizes {
		b := encoding.NewTrainBatch(n)
		nntest.AppendRows(b, rng, n)
		s.batches = append(s.batches, b)
	}
	return s
}

// newTrainer makes a trainer on d, or on the CPU where d is nil.
func newTrainer(t *testing.T, d *Device, net *nn.Net, cfg trainer.Config) *trainer.Trainer {
	t.Helper()
	cfg.Losses = trainer.LossesFor(net.Arch, cfg.Losses)
	if d != nil {
		cfg.Device = func(c device.Config) (device.Trainer, error) { return d.NewTrainer(c) }
	} else {
		cfg.Precision, cfg.Workers = device.FP32, 2
	}
	tr, err := trainer.New(net, cfg)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, tr)
	return tr
}

func mustStep(t *testing.T, tr *trainer.Trainer, src trainer.BatchSource) trainer.StepStats {
	t.Helper()
	s, err := tr.Step(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// relative is the distance of x from want, by the root of squares, against that of want.
func relative(x, want []float32) float64 {
	d, n := 0.0, 0.0
	for i := range want {
		d += (float64(x[i]) - float64(want[i])) * (float64(x[i]) - float64(want[i]))
		n += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(d / (n + 1e-30))
}

// length is the root of the sum of squares.
func length(x []float32) float64 {
	n := 0.0
	for _, v := range x {
		n += float64(v) * float64(v)
	}
	return math.Sqrt(n)
}

func differences(x, y []float32) []float32 {
	d := make([]float32, len(x))
	for i := range d {
		d[i] = x[i] - y[i]
	}
	return d
}

func sameMeasures(t *testing.T, got, want trainer.Measures, bound float64) {
	t.Helper()
	near := func(what string, x, y float64) {
		if math.Abs(x-y) > bound*(1+math.Abs(y)) || math.IsNaN(x) != math.IsNaN(y) {
			t.Errorf("%s is %v, want %v", what, x, y)
		}
	}
	for i, m := range want.Losses {
		near(m.Metric, got.Losses[i].Mean, m.Mean)
		if got.Losses[i].N != m.N {
			t.Errorf("%s is of %d rows, want %d", m.Metric, got.Losses[i].N, m.N)
		}
	}
	near("policy entropy", got.PolicyEntropy, want.PolicyEntropy)
	near("target entropy", got.PolicyTargetEntropy, want.PolicyTargetEntropy)
}

// precisions are what a step on the device may differ from the CPU's in fp32: in
// its losses, in the gradient's norm and in the gradient of a tensor, all relative.
// Rounding of stored activations and gradients (2^-12 in fp16, 2^-9 in bf16) adds up
// over some twenty layers; a ReLU near 0 falls on the other side, and with five
// boards there are few others to outweigh it.
var precisions = []struct {
	precision           device.Precision
	loss, norm, tensors float64
}{{device.FP32, 1e-5, 1e-4, 5e-4}, {device.FP16, 2e-3, 2e-2, 1e-1}, {device.BF16, 2e-2, 1e-1, 4e-1}}

// TestGradients holds a step of plain gradient descent on the device against the
// CPU's: the change of a weight is its gradient. Two micro-batches, of odd sizes.
func TestGradients(t *testing.T) {
	for _, v := range []struct {
		name, arch string
		halves     bool // in the short form, too
	}{
		{"SE", "16x2", true},
		{"no SE, Mish", "16x2-plain-mish", true},
		{"24 filters, Mish", "24x1-mish", true},
		{"classical policy, scalar value", "16x1-classical-scalar-noml", false}, // its large layer takes seconds
		{"pooled value", "16x1-pooled", true},
		{"24 filters, pooled, Mish", "24x1-plain-mish-scalar-pooled", true},
		{"attention policy", "*tower", false},
		{"encoded policy", "*encoded", true},
		{"attention net, encoded policy", "*encoded twice", false},
		{"attention net without gates", "*plain", false},
		{"attention net, Mish", "*mish", false},
		{"smolgen", "*smolgen", false},
		{"dense embedding", "*dense", true},
	} {
		arch := inferenceArch(t, v.arch)
		net := nntest.Net(arch, 3)
		cfg := trainer.DefaultConfig()
		cfg.BatchSize, cfg.GradAccumSteps, cfg.Momentum, cfg.ClipNorm = 3, 2, 0, 0
		cfg.Schedule = trainer.ConstantLR(1)
		cpu := newTrainer(t, nil, net, cfg)
		want := mustStep(t, cpu, randomBatches(11, 3, 2))
		for _, p := range precisions {
			if p.precision != device.FP32 && !v.halves && !slow.On {
				continue
			}
			t.Run(fmt.Sprintf("%s/precision %d", v.name, p.precision), func(t *testing.T) {
				cfg.Precision = p.precision
				gpu := newTrainer(t, openEmulated(t, emulated.Options{}), net, cfg)
				got := mustStep(t, gpu, randomBatches(11, 3, 2))
				sameMeasures(t, got.Measures, want.Measures, p.loss)
				if math.Abs(got.GradNorm-want.GradNorm) > p.norm*want.GradNorm || got.Skipped {
					t.Errorf("gradient norm %v, want %v; skipped %v", got.GradNorm, want.GradNorm, got.Skipped)
				}
				var changes, wanted [][]float32
				for i, old := range net.Params {
					changes = append(changes, differences(gpu.Net().Params[i].Data, old.Data))
					wanted = append(wanted, differences(cpu.Net().Params[i].Data, old.Data))
				}
				sameChanges(t, arch, changes, wanted, p.tensors)
			})
		}
	}
}

// TestSteps goes through several steps in fp32 with everything on: both optimizers,
// clipping, averaging, evaluation, statistics of the averaged net.
func TestSteps(t *testing.T) {
	t.Setenv(emulated.RacesVariable, "1") // a buffer that two kernels' arguments share may be one that blocks must not
	for _, v := range []struct {
		optimizer string
		arch      nn.Arch
		bound     float64
	}{
		{trainer.OptimizerSGD, smallArch(), 1e-3},
		{trainer.OptimizerAdamW, smallArch(), 1e-2}, // it divides a gradient that is all rounding by its own size
		{trainer.OptimizerSGD, nntest.AttentionNets()["dense"], 1e-3},
	} {
		t.Run(v.optimizer+" "+v.arch.String(), func(t *testing.T) {
			optimizer, arch, bound := v.optimizer, v.arch, v.bound
			cfg := trainer.DefaultConfig()
			cfg.BatchSize, cfg.Optimizer, cfg.ClipNorm = 4, optimizer, .1
			cfg.Schedule = trainer.ConstantLR(.003)
			cfg.SWA = trainer.SWAConfig{Period: 1, MaxAverages: 2}
			net := nntest.Net(arch, 5)
			cpu, gpu := newTrainer(t, nil, net, cfg), newTrainer(t, openEmulated(t, emulated.Options{}), net, cfg)
			a, b := randomBatches(1, 4, 3, 4), randomBatches(1, 4, 3, 4)
			for range 3 {
				want, got := mustStep(t, cpu, a), mustStep(t, gpu, b)
				sameMeasures(t, got.Measures, want.Measures, 1e-4)
				if got.Clipped != want.Clipped || !got.Clipped {
					t.Errorf("clipped %v, the CPU says %v; want both", got.Clipped, want.Clipped)
				}
			}
			for _, tr := range []*trainer.Trainer{cpu, gpu} {
				if err := tr.RefreshSWA(t.Context(), randomBatches(2, 4, 4), 8); err != nil {
					t.Fatal(err)
				}
			}
			sameNet(t, "net", gpu.Net(), cpu.Net(), bound)
			sameNet(t, "average", gpu.SWA(), cpu.SWA(), bound)
			want, err := cpu.Evaluate(t.Context(), randomBatches(3, 4, 2), 5)
			if err != nil {
				t.Fatal(err)
			}
			got, err := gpu.Evaluate(t.Context(), randomBatches(3, 4, 2), 5)
			if err != nil {
				t.Fatal(err)
			}
			sameMeasures(t, got.Measures, want.Measures, 1e-4)
		})
	}
}

// TestBlends: full batches, whose passes are captured, learn the blend of their step.
func TestBlends(t *testing.T) {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Schedule = 4, trainer.ConstantLR(.003)
	cfg.Losses[1].Mix.Schedule = trainer.Schedule{{DurationSteps: []int64{32}, LR: []float64{1, 0}, Transition: []trainer.Transition{trainer.Linear}}}
	net := nntest.Net(smallArch(), 5)
	cpu, gpu := newTrainer(t, nil, net, cfg), newTrainer(t, openEmulated(t, emulated.Options{}), net, cfg)
	a, b := randomBatches(1, 4), randomBatches(1, 4)
	a.again, b.again = true, true
	for _, step := range []int64{0, 16, 32} {
		for _, tr := range []*trainer.Trainer{cpu, gpu} {
			if err := tr.Continue(trainer.Continuation{Steps: step}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 { // two slots, and a captured pass that comes again
			want, got := mustStep(t, cpu, a), mustStep(t, gpu, b)
			sameMeasures(t, got.Measures, want.Measures, 1e-4)
		}
	}
	sameNet(t, "net", gpu.Net(), cpu.Net(), 1e-3)
}

func smallArch() nn.Arch { return nntest.Resized(nn.Tower(16, 1), 4, 8, 2, 8) }

func sameNet(t *testing.T, what string, got, want *nn.Net, bound float64) {
	t.Helper()
	for i, p := range want.Params {
		if e := relative(got.Params[i].Data, p.Data); e > bound {
			t.Errorf("%s: %s is off by %.2g of it", what, p.Name, e)
		}
	}
}

// TestInterchange moves a run between CPU and device in the middle: a checkpoint
// of one goes on in the other.
func TestInterchange(t *testing.T) {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Optimizer = 3, trainer.OptimizerAdamW
	// With the usual 1e-8, AdamW makes a whole step of a gradient that is rounding
	// alone, in whatever direction that points: one weight of many batches.
	cfg.Epsilon = 1e-4
	cfg.SWA = trainer.SWAConfig{Period: 1, MaxAverages: 4}
	net := nntest.Net(smallArch(), 6)
	whole := newTrainer(t, nil, net, cfg)
	rows := randomBatches(4, 3, 3, 3)
	for range 3 {
		mustStep(t, whole, rows)
	}
	d := openEmulated(t, emulated.Options{})
	rows = randomBatches(4, 3, 3, 3)
	var saved bytes.Buffer
	for i, dev := range []*Device{nil, d, nil} {
		tr := newTrainer(t, dev, net, cfg)
		if i > 0 {
			if err := tr.Section().Load(&saved, trainer.SectionVersion); err != nil {
				t.Fatal(err)
			}
		}
		mustStep(t, tr, rows)
		saved.Reset()
		if err := tr.Section().Save(&saved); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			sameNet(t, "net", tr.Net(), whole.Net(), 1e-3)
			sameNet(t, "average", tr.SWA(), whole.SWA(), 1e-3)
		}
	}
}

// TestSkippedStep gives the device a weight that is infinite: the step changes
// nothing, and fp16 halves its loss scale.
func TestSkippedStep(t *testing.T) {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Precision = 2, device.FP16
	tr := newTrainer(t, openEmulated(t, emulated.Options{}), nntest.Net(smallArch(), 7), cfg)
	before := tr.Net()
	rows := randomBatches(5, 2, 2)
	rows.batches[0].Weight[0] = float32(math.Inf(1))
	s := mustStep(t, tr, rows)
	if !s.Skipped {
		t.Error("the step was not skipped")
	}
	if after := tr.Net(); after.ID() != before.ID() {
		t.Error("a skipped step changed the net")
	}
	next := mustStep(t, tr, rows)
	if next.Skipped || next.LossScale != s.LossScale/2 {
		t.Errorf("next step: skipped %v, loss scale %v after %v", next.Skipped, next.LossScale, s.LossScale)
	}
}

// TestOverfit begins to learn 16 rows by heart in fp16 and bf16, as full batches,
// which run as captured graphs: the loss falls as it does on the CPU.
func TestOverfit(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds on the emulator")
	}
	const steps = 8
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Optimizer = 16, trainer.OptimizerAdamW
	cfg.Schedule = trainer.ConstantLR(.01)
	learn := func(d *Device, p device.Precision) (losses []float64) {
		cfg.Precision = p
		tr := newTrainer(t, d, nntest.Net(smallArch(), 8), cfg)
		rows := randomBatches(6, 16)
		rows.again = true
		for range steps {
			losses = append(losses, mustStep(t, tr, rows).Objective)
		}
		return losses
	}
	want := learn(nil, device.FP32)
	fall := want[0] - want[steps-1]
	if fall < .25 {
		t.Fatalf("the CPU's loss goes from %v to %v only", want[0], want[steps-1])
	}
	halves := precisions[1:]
	if !slow.On {
		halves = halves[:1]
	}
	for _, p := range halves {
		got := learn(openEmulated(t, emulated.Options{}), p.precision)
		for i := range want {
			if math.Abs(got[i]-want[i]) > .05*fall {
				t.Errorf("precision %d: losses %v, want %v", p.precision, got, want)
				break
			}
		}
	}
}

// TestRepeats takes the same two steps twice: equal bits, whatever the order of the
// device's threads.
func TestRepeats(t *testing.T) {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.Precision, cfg.GradAccumSteps = 3, device.BF16, 2
	var ids []string
	for range 2 {
		tr := newTrainer(t, openEmulated(t, emulated.Options{}), nntest.Net(smallArch(), 9), cfg)
		rows := randomBatches(8, 3, 3, 3)
		mustStep(t, tr, rows)
		mustStep(t, tr, rows)
		ids = append(ids, tr.Net().ID())
	}
	if ids[0] != ids[1] {
		t.Errorf("two runs gave nets %s and %s", ids[0], ids[1])
	}
}
