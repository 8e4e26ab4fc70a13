package trainer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu/train"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// precisionOf is bf16 with mixed precision.
func precisionOf(amp bool) device.Precision {
	if amp {
		return device.BF16
	}
	return device.FP32
}

// eachNet runs f with a tower, in fp32 and, where the active tier has them, with bf16
// products, and with a sparse net. Those in fp32 have an auxiliary head, too.
func eachNet(t *testing.T, f func(t *testing.T, arch nn.Arch, amp bool)) {
	t.Run("fp32", func(t *testing.T) { f(t, nntest.TinyArch().WithAuxiliary(), false) })
	t.Run("bf16", func(t *testing.T) {
		if !kernel.HasBF16() {
			t.Skip("SKIPPED: this CPU has no bf16 products")
		}
		f(t, nntest.TinyArch(), true)
	})
	t.Run("sparse", func(t *testing.T) { f(t, nn.SparseArch(nn.SparseBlock).WithAuxiliary(), false) })
}

// TestWorkersBitEqual: three steps of five slices give the same bits for every
// worker count, short last slice included, with small slices and large ones.
func TestWorkersBitEqual(t *testing.T) {
	for _, rows := range []int{4*sumRows(0) + 9, 4*sumRows(1000) + 13} {
		if testing.Short() && rows > 256 {
			continue // plain Go takes seconds
		}
		eachNet(t, func(t *testing.T, arch nn.Arch, amp bool) { checkWorkers(t, arch, rows, amp) })
	}
	for _, amp := range []bool{false, kernel.HasBF16()} {
		t.Run(fmt.Sprint("attention, amp ", amp), func(t *testing.T) { checkWorkers(t, nntest.Arch("16x2x2h-smolgen"), 4*sumRows(0)+9, amp) })
	}
}

func checkWorkers(t *testing.T, arch nn.Arch, rows int, amp bool) {
	var want *nn.Net
	var wantStats StepStats
	for _, workers := range []int{1, 2, 3, 5} {
		cfg := testConfig(arch, rows)
		cfg.Workers, cfg.Precision = workers, precisionOf(amp)
		tr := newTestTrainer(t, nn.Init(arch, 3), cfg)
		src := newRowsSource(11, cfg.BatchSize, -1)
		var stats StepStats
		for range 3 {
			stats = mustStep(t, tr, src)
		}
		if want == nil {
			want, wantStats = tr.Net(), stats
			continue
		}
		sameBits(t, fmt.Sprintf("%d workers", workers), want, tr.Net())
		if stats.Objective != wantStats.Objective || stats.GradNorm != wantStats.GradNorm || stats.Losses[0] != wantStats.Losses[0] {
			t.Errorf("%d workers: %+v, want %+v", workers, stats, wantStats)
		}
	}
}

// TestAccumulatedStepCounts: a step takes its micro-batches, divides by their
// number, and a source that ends makes a smaller step.
func TestAccumulatedStepCounts(t *testing.T) {
	arch := nntest.TinyArch()
	cfg := testConfig(arch, 8)
	cfg.GradAccumSteps = 3
	tr := newTestTrainer(t, nn.Init(arch, 1), cfg)
	src := newRowsSource(1, 8, 5)
	for i, rows := range []int{24, 16} {
		s := mustStep(t, tr, src)
		if s.Rows != rows || s.Step != int64(i+1) {
			t.Errorf("step %d: %d rows, step %d", i, s.Rows, s.Step)
		}
	}
	if tr.NumSamples() != 40 {
		t.Errorf("NumSamples = %d", tr.NumSamples())
	}
	before := tr.Net()
	if _, err := tr.Step(context.Background(), src); err != io.EOF {
		t.Errorf("after the end: %v, want io.EOF", err)
	}
	sameBits(t, "after the end", before, tr.Net())
}

// TestOverfit: 32 rows are learnt by heart, with each optimizer.
func TestOverfit(t *testing.T) { eachNet(t, checkOverfit) }

func checkOverfit(t *testing.T, arch nn.Arch, amp bool) {
	rows := encoding.NewTrainBatch(32)
	rng := rand.New(rand.NewPCG(9, 9))
	nntest.AppendRows(rows, rng, 32)
	for i := range rows.N {
		p := rows.PolicyOf(i)
		clear(p)
		p[rng.IntN(len(p))] = 1
	}
	for _, optimizer := range []string{OptimizerSGD, OptimizerAdamW, OptimizerNAdamW} {
		t.Run(optimizer, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.BatchSize, cfg.Optimizer, cfg.Schedule = 32, optimizer, ConstantLR(.05)
			if optimizer != OptimizerSGD {
				cfg.Schedule = ConstantLR(.005)
			} else if arch.Sparse() { // without batch norm
				cfg.Schedule = ConstantLR(.2)
			}
			cfg.ClipNorm, cfg.Precision = 5, precisionOf(amp)
			// Sharp targets in full, and hardly any L2: everything can be learnt by heart.
			cfg.Losses = []Loss{
				{Head: HeadPolicy, Kind: CrossEntropy, Weight: 1, Metric: "policy_loss"},
				{Head: HeadValue, Kind: WDLCrossEntropy, Target: encoding.TargetResult, Weight: 1, Metric: "value_loss"},
				{Head: HeadMovesLeft, Kind: Huber, Target: encoding.TargetResult, Weight: 0.5, Metric: "moves_left_loss"},
				{Head: HeadWeights, Kind: L2, Weight: 1e-4, Metric: "l2_loss"},
			}
			tr := newTestTrainer(t, nn.Init(arch, 1), cfg)
			src := &fixedSource{rows: rows, size: 32}
			first := mustStep(t, tr, src)
			var last StepStats
			for range 150 {
				last = mustStep(t, tr, src)
			}
			if p := last.Loss("policy_loss"); !(p < .1) || first.Loss("policy_loss") < 1 {
				t.Errorf("policy loss %v -> %v, want below 0.1", first.Loss("policy_loss"), p)
			}
			if v := last.Loss("value_loss"); !(v < .05) || last.ValueAccuracy != 1 || last.PolicyAccuracy != 1 {
				t.Errorf("value loss %v, accuracies %v %v", v, last.ValueAccuracy, last.PolicyAccuracy)
			}
			if m, was := last.Loss("moves_left_loss"), first.Loss("moves_left_loss"); !(m < was/4) {
				t.Errorf("moves-left loss %v -> %v", was, m)
			}
		})
	}
}

// TestEvaluate: the mean of a loss is that of the rows whose target is known, by their
// weights, over micro-batches, and evaluation changes nothing.
func TestEvaluate(t *testing.T) {
	arch := nntest.TinyArch()
	net := nntest.Net(arch, 3)
	cfg := testConfig(arch, 24)
	tr := newTestTrainer(t, net, cfg)
	rows := encoding.NewTrainBatch(40)
	nntest.AppendRows(rows, rand.New(rand.NewPCG(1, 2)), 40)
	got, err := tr.Evaluate(context.Background(), &fixedSource{rows: rows, size: 24}, 40)
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, "evaluation", net, tr.Net())
	if got.Rows != 40 || got.Losses[0].N != 40-unknownPolicies(rows) {
		t.Errorf("rows %d, policy rows %d", got.Rows, got.Losses[0].N)
	}
	rowsSeen, weight := device.Rows{}, 0.0
	dev, err := train.Open(device.Config{Arch: arch, Capacity: 40, Workers: 1, Terms: []device.Term{cfg.Losses[0].term()}, Optimizer: "sgd", BNMomentum: .1})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if err := errors.Join(dev.Upload(&device.State{Params: tr.paramData(), Moments: [][][]float32{tr.opt.moments[0].data}}), dev.Stage(rows),
		dev.Start(device.Pass{Running: true, LossScale: 1}), dev.Finish(&rowsSeen)); err != nil {
		t.Fatal(err)
	}
	policy := 0.0
	for i, r := range rowsSeen.Terms[0] {
		if sumOf(rows.PolicyOf(i)) > 0 {
			policy, weight = policy+float64(rows.Weight[i])*r.Loss, weight+float64(rows.Weight[i])
		}
	}
	near(t, "policy loss", got.Losses[0].Mean, policy/weight, 1e-9)
	for _, l := range got.Losses {
		if l.Metric != "l2_loss" && !(l.StdErr > 0) {
			t.Errorf("%s: standard error %v", l.Metric, l.StdErr)
		}
	}
	if _, err := tr.Evaluate(context.Background(), newRowsSource(1, 8, 0), 8); !errors.Is(err, io.EOF) {
		t.Errorf("no rows: %v, want io.EOF", err)
	}
}

func sumOf(p []float32) (s float32) {
	for _, x := range p {
		s += x
	}
	return s
}

func unknownPolicies(b *encoding.TrainBatch) (n int) {
	for i := range b.N {
		if !(sumOf(b.PolicyOf(i)) > 0) {
			n++
		}
	}
	return n
}

// TestResumeBitEqual: saved mid-run and loaded into a trainer of another net and
// number of workers, training goes on bit for bit as if it had never stopped.
func TestResumeBitEqual(t *testing.T) { eachNet(t, checkResume) }

func checkResume(t *testing.T, arch nn.Arch, amp bool) {
	for _, optimizer := range []string{OptimizerSGD, OptimizerAdamW, OptimizerNAdamW} {
		for _, accum := range []int{1, 4} {
			cfg := testConfig(arch, 16)
			cfg.MomentumDecay = 0.004
			cfg.Optimizer, cfg.GradAccumSteps, cfg.Precision = optimizer, accum, precisionOf(amp)
			cfg.SWA = SWAConfig{Period: 2, MaxAverages: 3}
			cfg.Schedule = Schedule{{DurationSteps: []int64{8}, LR: []float64{.01, .001}, Transition: []Transition{Cosine}}}
			cfg.Warmup = Warmup{Steps: 4}
			whole := newTestTrainer(t, nn.Init(arch, 1), cfg)
			src := newRowsSource(5, 16, -1)
			for range 3 {
				mustStep(t, whole, src)
			}
			var saved bytes.Buffer
			if err := whole.Section().Save(&saved); err != nil {
				t.Fatal(err)
			}
			cfg.Workers = 3 // which must not matter
			resumed := newTestTrainer(t, nn.Init(arch, 2), cfg)
			if err := resumed.Section().Load(bytes.NewReader(saved.Bytes()), SectionVersion); err != nil {
				t.Fatal(err)
			}
			again := newRowsSource(5, 16, -1)
			skip := encoding.NewTrainBatch(16)
			for range 3 * accum {
				skip.Reset()
				_ = again.Next(context.Background(), skip)
			}
			for range 3 {
				a, b := mustStep(t, whole, src), mustStep(t, resumed, again)
				if a.Objective != b.Objective || a.LR != b.LR || a.Step != b.Step || a.Samples != b.Samples {
					t.Errorf("%s: step %+v after resume is %+v", optimizer, a, b)
				}
			}
			sameBits(t, optimizer, whole.Net(), resumed.Net())
			sameBits(t, optimizer+" average", whole.SWA(), resumed.SWA())
			var x, y bytes.Buffer
			if err := errors.Join(whole.Section().Save(&x), resumed.Section().Save(&y)); err != nil || !bytes.Equal(x.Bytes(), y.Bytes()) {
				t.Errorf("%s: the states differ (%v)", optimizer, err)
			}
		}
	}
}

// TestNonFinite: NaN in a row weight, or in the net, skips the step; nothing
// changes, good steps start the count anew, and ten in a row are an error.
func TestNonFinite(t *testing.T) {
	arch := nntest.TinyArch()
	rows := encoding.NewTrainBatch(8)
	nntest.AppendRows(rows, rand.New(rand.NewPCG(1, 1)), 8)
	bad := &fixedSource{rows: rows, size: 8}
	good := newRowsSource(3, 8, -1)
	rows.Weight[3] = float32(math.NaN())
	tr := newTestTrainer(t, nn.Init(arch, 1), testConfig(arch, 8))
	mustStep(t, tr, good)
	before := tr.Net()
	for range MaxConsecutiveSkips - 1 {
		if s := mustStep(t, tr, bad); !s.Skipped || s.Step != 1 {
			t.Fatalf("a NaN step was taken: %+v", s)
		}
	}
	sameBits(t, "skipped steps", before, tr.Net())
	if s := mustStep(t, tr, good); s.Skipped || s.Objective-s.Objective != 0 {
		t.Fatalf("a good step after bad ones: %+v", s)
	}
	before = tr.Net()
	var err error
	for i := range MaxConsecutiveSkips {
		if _, err = tr.Step(context.Background(), bad); (err != nil) != (i == MaxConsecutiveSkips-1) {
			t.Fatalf("bad step %d: %v", i, err)
		}
	}
	if !errors.Is(err, ErrNonFinite) || !strings.Contains(err.Error(), "lower --lr") || tr.NumSkipped() != 2*MaxConsecutiveSkips-1 {
		t.Errorf("error %v, %d skipped", err, tr.NumSkipped())
	}
	sameBits(t, "after ErrNonFinite", before, tr.Net())

	for _, name := range []string{"input.conv.weight", "tower.0.conv2.weight", "tower.1.se.fc1.bias", "policy.conv2.bias", "moves_left.fc2.weight"} {
		broken := nn.Init(arch, 1)
		broken.Get(name)[1] = float32(math.Inf(1))
		tr := newTestTrainer(t, broken, testConfig(arch, 8))
		if s := mustStep(t, tr, good); !s.Skipped {
			t.Errorf("infinite %s: the step was taken: %+v", name, s)
		}
		if err := tr.Section().Save(io.Discard); !errors.Is(err, ErrNonFinite) {
			t.Errorf("infinite %s was saved: %v", name, err)
		}
	}
}

// TestRefreshSWA: the averaged net gets the statistics that its weights see,
// and the trainer's own net is not touched.
func TestRefreshSWA(t *testing.T) {
	arch := nntest.TinyArch()
	cfg := testConfig(arch, 16)
	cfg.SWA = SWAConfig{Period: 1, MaxAverages: 4}
	tr := newTestTrainer(t, nn.Init(arch, 1), cfg)
	if err := tr.RefreshSWA(context.Background(), newRowsSource(2, 16, 2), 32); err != nil || tr.SWA() != nil {
		t.Fatalf("without an average: %v", err)
	}
	src := newRowsSource(1, 16, -1)
	for range 3 {
		mustStep(t, tr, src)
	}
	net, swa := tr.Net(), tr.SWA()
	if err := tr.RefreshSWA(context.Background(), newRowsSource(2, 16, 2), 32); err != nil {
		t.Fatal(err)
	}
	sameBits(t, "own net", net, tr.Net())
	after := tr.SWA()
	changed := false
	for i, s := range nn.Specs(arch) {
		for j, x := range swa.Params[i].Data {
			y := after.Params[i].Data[j]
			if s.Kind.Trained() && x != y {
				t.Fatalf("%s changed", s.Name)
			}
			changed = changed || (!s.Kind.Trained() && x != y)
		}
	}
	if !changed {
		t.Error("no statistics changed")
	}
}

// TestBadBatches: a source that breaks its promises is told so.
func TestBadBatches(t *testing.T) {
	arch := nntest.TinyArch()
	for name, spoil := range map[string]func(b *encoding.TrainBatch){
		"no rows":        func(b *encoding.TrainBatch) { b.Reset() },
		"too many rows":  func(b *encoding.TrainBatch) { b.Grow(1) },
		"policy index":   func(b *encoding.TrainBatch) { b.Legal[0] = encoding.NumPolicy },
		"a move twice":   func(b *encoding.TrainBatch) { b.Legal[1] = b.Legal[0] },
		"legal start":    func(b *encoding.TrainBatch) { b.LegalStart[1] = -1 },
		"short policy":   func(b *encoding.TrainBatch) { b.Policy = b.Policy[:0] },
		"missing target": func(b *encoding.TrainBatch) { b.Targets = b.Targets[:1] },
	} {
		tr := newTestTrainer(t, nn.Init(arch, 1), testConfig(arch, 4))
		before := tr.Net()
		_, err := tr.Step(context.Background(), sourceFunc(func(b *encoding.TrainBatch) {
			nntest.AppendRows(b, rand.New(rand.NewPCG(1, 1)), 4)
			spoil(b)
		}))
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		sameBits(t, name, before, tr.Net())
	}
}

type sourceFunc func(b *encoding.TrainBatch)

func (f sourceFunc) Next(_ context.Context, b *encoding.TrainBatch) error { f(b); return nil }
