package trainer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// exactConfig is a configuration whose numbers float32 holds exactly, so that a
// device gets the same ones as the host.
func exactConfig(a nn.Arch, batch int) Config {
	cfg := testConfig(a, batch)
	for i := range cfg.Losses {
		if cfg.Losses[i].Head == HeadMovesLeft {
			cfg.Losses[i].Weight = 0.125
		}
	}
	cfg.Momentum, cfg.Beta1, cfg.Beta2, cfg.WeightDecay, cfg.BNMomentum = 0.875, 0.875, 0.96875, 0.125, 0.125
	cfg.Schedule = ConstantLR(1.0 / 64)
	return cfg
}

// pairOf returns a trainer on the CPU and one on a fake device, of one net.
func pairOf(t *testing.T, net *nn.Net, cfg Config) (host, remote *Trainer, dev *fakeDevice) {
	t.Helper()
	host = newTestTrainer(t, net, cfg)
	cfg.Device = openFake(&dev)
	return host, newTestTrainer(t, net, cfg), dev
}

// sameStats holds a device's measures against the host's. Row losses are float32
// on a device, and its sum of squares may be taken in another order.
func sameStats(t *testing.T, what string, want, got *Measures) {
	t.Helper()
	for i, l := range want.Losses {
		g := got.Losses[i]
		if g.Metric != l.Metric || g.N != l.N {
			t.Errorf("%s: %+v, want %+v", what, g, l)
		}
		close32(t, what+" "+l.Metric, g.Mean, l.Mean)
		close32(t, what+" error of "+l.Metric, g.StdErr, l.StdErr)
	}
	for name, v := range map[string][2]float64{"entropy": {got.PolicyEntropy, want.PolicyEntropy}, "target": {got.PolicyTargetEntropy, want.PolicyTargetEntropy},
		"legal": {got.LegalEntropy, want.LegalEntropy}, "policy hits": {got.PolicyAccuracy, want.PolicyAccuracy}, "value hits": {got.ValueAccuracy, want.ValueAccuracy}} {
		close32(t, what+" "+name, v[0], v[1])
	}
}

// close32 allows for a mean of values that were rounded to float32.
func close32(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-6*math.Abs(want)+1e-7 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestDeviceSteps: with the same arithmetic behind it a trainer on a device takes
// the host's steps bit for bit: accumulation, short steps at the end of a source,
// clipping, averaging, both optimizers, every kind of net. Checkpoints are equal
// byte for byte.
func TestDeviceSteps(t *testing.T) {
	for name, arch := range nntest.Variants() {
		for _, optimizer := range []string{OptimizerSGD, OptimizerAdamW} {
			if optimizer == OptimizerAdamW && name == "classical" {
				continue // four times the weights of the others, all in one more matrix
			}
			t.Run(name+" "+optimizer, func(t *testing.T) {
				cfg := exactConfig(arch, 40)
				cfg.Optimizer, cfg.GradAccumSteps, cfg.ClipNorm = optimizer, 3, 0.0625
				cfg.SWA = SWAConfig{Period: 2, MaxAverages: 2}
				host, remote, _ := pairOf(t, nntest.Net(arch, 3), cfg)
				a, b := newRowsSource(8, 40, 17), newRowsSource(8, 40, 17)
				for step := range 6 {
					want, got := mustStep(t, host, a), mustStep(t, remote, b)
					sameStats(t, fmt.Sprint("step ", step), &want.Measures, &got.Measures)
					close32(t, "objective", got.Objective, want.Objective)
					if got.GradNorm != want.GradNorm || got.Clipped != want.Clipped || !got.Clipped || got.Rows != want.Rows || got.Step != want.Step || got.Samples != want.Samples || got.LR != want.LR {
						t.Fatalf("step %+v, want %+v", got, want)
					}
				}
				if _, err := remote.Step(context.Background(), b); err != io.EOF {
					t.Errorf("after the end: %v", err)
				}
				sameBits(t, "net", host.Net(), remote.Net())
				sameBits(t, "average", host.SWA(), remote.SWA())
				if !bytes.Equal(saveOf(t, host), saveOf(t, remote)) {
					t.Error("the checkpoints differ")
				}
			})
		}
	}
}

// TestSeveralDevices: all of them have work at once, and a step is what it is on one.
func TestSeveralDevices(t *testing.T) {
	arch := nntest.TinyArch()
	cfg := exactConfig(arch, 8)
	cfg.GradAccumSteps = 6
	net := nn.Init(arch, 1)
	host := newTestTrainer(t, net, cfg)
	var dev *fakeDevice
	cfg.Device = func(c device.Config) (device.Trainer, error) {
		d, err := openFake(&dev)(c)
		dev.devices = 3
		return d, err
	}
	remote := newTestTrainer(t, net, cfg)
	a, b := newRowsSource(8, 8, 16), newRowsSource(8, 8, 16) // the last step is short
	for step := range 3 {
		want, got := mustStep(t, host, a), mustStep(t, remote, b)
		sameStats(t, fmt.Sprint("step ", step), &want.Measures, &got.Measures)
	}
	sameBits(t, "net", host.Net(), remote.Net())
	if dev.most != 4 { // three at work and one behind them
		t.Errorf("%d passes were under way at once, want 4", dev.most)
	}
}

func saveOf(t *testing.T, tr *Trainer) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := tr.Section().Save(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestDeviceInterchange: a checkpoint of either goes on in either, bit for bit.
func TestDeviceInterchange(t *testing.T) {
	arch := nntest.TinyArch()
	cfg := exactConfig(arch, 16)
	cfg.Optimizer, cfg.SWA = OptimizerAdamW, SWAConfig{Period: 2, MaxAverages: 3}
	host, remote, _ := pairOf(t, nn.Init(arch, 1), cfg)
	for _, from := range []*Trainer{host, remote} {
		src := newRowsSource(3, 16, 5)
		for range 3 {
			mustStep(t, from, src)
		}
		saved := saveOf(t, from)
		a, b, _ := pairOf(t, nn.Init(arch, 2), cfg)
		for _, to := range []*Trainer{a, b} {
			if err := to.Section().Load(bytes.NewReader(saved), SectionVersion); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(saveOf(t, to), saved) {
				t.Error("a state that was loaded is saved otherwise")
			}
		}
		rest := [][]*Trainer{{from, a, b}}
		for _, tr := range rest[0] {
			again := newRowsSource(4, 16, 2)
			mustStep(t, tr, again)
			mustStep(t, tr, again)
		}
		sameBits(t, "host", from.Net(), a.Net())
		sameBits(t, "device", from.Net(), b.Net())
		if !bytes.Equal(saveOf(t, a), saveOf(t, b)) {
			t.Error("the states differ")
		}
	}
}

// TestDeviceEvaluate: evaluation and the refreshing of the average give the host's
// numbers, and leave net, moments and step as they were.
func TestDeviceEvaluate(t *testing.T) {
	arch := nntest.TinyArch()
	cfg := exactConfig(arch, 24)
	cfg.SWA = SWAConfig{Period: 1, MaxAverages: 4}
	host, remote, _ := pairOf(t, nntest.Net(arch, 3), cfg)
	for _, tr := range []*Trainer{host, remote} {
		src := newRowsSource(1, 24, 2)
		mustStep(t, tr, src)
		mustStep(t, tr, src)
	}
	evaluate := func(tr *Trainer) EvalStats {
		s, err := tr.Evaluate(context.Background(), newRowsSource(2, 24, 9), 61)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want, got := evaluate(host), evaluate(remote)
	if got.Rows != 61 || want.Rows != 61 {
		t.Errorf("%d rows, on the device %d, want 61", want.Rows, got.Rows)
	}
	sameStats(t, "evaluation", &want.Measures, &got.Measures)
	net := remote.Net()
	for _, tr := range []*Trainer{host, remote} {
		if err := tr.RefreshSWA(context.Background(), newRowsSource(2, 24, 2), 48); err != nil {
			t.Fatal(err)
		}
	}
	sameBits(t, "own net", net, remote.Net())
	sameBits(t, "average", host.SWA(), remote.SWA())
	for _, tr := range []*Trainer{host, remote} {
		mustStep(t, tr, newRowsSource(7, 24, 1))
	}
	if !bytes.Equal(saveOf(t, host), saveOf(t, remote)) {
		t.Error("after the refreshing the states differ")
	}
}

// TestDeviceNonFinite: a step with a number that is not finite is skipped, the
// average too, and ten in a row are an error.
func TestDeviceNonFinite(t *testing.T) {
	arch := nntest.TinyArch()
	cfg := exactConfig(arch, 8)
	cfg.SWA = SWAConfig{Period: 1, MaxAverages: 4}
	host, remote, _ := pairOf(t, nn.Init(arch, 1), cfg)
	rows := encoding.NewTrainBatch(8)
	nntest.AppendRows(rows, rand.New(rand.NewPCG(1, 1)), 8)
	rows.Weight[3] = float32(math.NaN())
	for _, tr := range []*Trainer{host, remote} {
		if s := mustStep(t, tr, &fixedSource{rows: rows, size: 8}); !s.Skipped || tr.SWA() != nil {
			t.Errorf("a NaN step was taken: %+v", s)
		}
		mustStep(t, tr, newRowsSource(3, 8, 1))
		var err error
		for i := range MaxConsecutiveSkips {
			if _, err = tr.Step(context.Background(), &fixedSource{rows: rows, size: 8}); (err != nil) != (i == MaxConsecutiveSkips-1) {
				t.Fatalf("bad step %d: %v", i, err)
			}
		}
		if !errors.Is(err, ErrNonFinite) {
			t.Errorf("error %v", err)
		}
	}
	if !bytes.Equal(saveOf(t, host), saveOf(t, remote)) {
		t.Error("the states differ")
	}
}

// TestDeviceLossScale: fp16 scales the loss; a skipped step halves the scale, which
// is saved, and a state without one begins anew.
func TestDeviceLossScale(t *testing.T) {
	arch := smallArch()
	cfg := exactConfig(arch, 8)
	cfg.Precision = device.FP16
	var dev *fakeDevice
	cfg.Device = openFake(&dev)
	tr := newTestTrainer(t, nn.Init(arch, 1), cfg)
	if dev.cfg.Precision != device.FP16 {
		t.Errorf("the device computes in %v", dev.cfg.Precision)
	}
	rows := encoding.NewTrainBatch(8)
	nntest.AppendRows(rows, rand.New(rand.NewPCG(1, 1)), 8)
	rows.Weight[0] = float32(math.Inf(1))
	if s := mustStep(t, tr, &fixedSource{rows: rows, size: 8}); !s.Skipped || s.LossScale != initialLossScale {
		t.Errorf("%+v", s)
	}
	if s := mustStep(t, tr, newRowsSource(1, 8, 1)); s.Skipped || s.LossScale != initialLossScale/2 {
		t.Errorf("%+v", s)
	}
	again := newTestTrainer(t, nn.Init(arch, 2), cfg)
	if err := again.Section().Load(bytes.NewReader(saveOf(t, tr)), SectionVersion); err != nil || again.scaler != tr.scaler {
		t.Errorf("loaded %+v, %v, want %+v", again.scaler, err, tr.scaler)
	}
	cfg.Device, cfg.Precision = nil, device.FP32
	plain := newTestTrainer(t, nn.Init(arch, 2), cfg)
	if err := plain.Section().Load(bytes.NewReader(saveOf(t, tr)), SectionVersion); err != nil || plain.scaler.scale != 1 {
		t.Errorf("fp32 took over loss scale %v, %v", plain.scaler.scale, err)
	}
	if err := again.Section().Load(bytes.NewReader(saveOf(t, plain)), SectionVersion); err != nil || again.scaler.scale != initialLossScale {
		t.Errorf("from fp32: loss scale %v, %v", again.scaler.scale, err)
	}
}

// TestDeviceErrors: whatever call fails is told, with nothing left under way, and
// the trainer goes on where the device does.
func TestDeviceErrors(t *testing.T) {
	arch := smallArch()
	broken := errors.New("the device is broken")
	for _, call := range []string{"Stage", "Start", "Finish", "BeginStep", "Update", "Download"} {
		cfg := exactConfig(arch, 4)
		cfg.GradAccumSteps = 3
		_, tr, dev := pairOf(t, nn.Init(arch, 1), cfg)
		src := newRowsSource(1, 4, -1)
		mustStep(t, tr, src)
		left := 1
		dev.fail = func(c string) error {
			if c == call {
				if left--; left < 0 || call != "Finish" {
					return broken
				}
			}
			return nil
		}
		before := slices.Clone(tr.net.Params[0].Data)
		_, err := tr.Step(context.Background(), src)
		if call == "Download" {
			if err != nil || !slices.Equal(tr.Net().Params[0].Data, before) {
				t.Errorf("a net that cannot be had: %v", err)
			}
			err = tr.Section().Save(io.Discard)
			if _, again := tr.Step(context.Background(), src); !errors.Is(again, broken) {
				t.Errorf("a step after it: %v", again)
			}
		}
		if !errors.Is(err, broken) || len(dev.staged)+len(dev.started) > 0 {
			t.Errorf("%s: error %v, %d batches under way", call, err, len(dev.staged)+len(dev.started))
		}
		if dev.fail = nil; call != "Download" {
			mustStep(t, tr, src)
		}
	}
	cfg := exactConfig(arch, 4)
	cfg.Device = func(device.Config) (device.Trainer, error) { return nil, broken }
	if _, err := New(nn.Init(arch, 1), cfg); !errors.Is(err, broken) {
		t.Errorf("a device that does not open: %v", err)
	}
}

// peekingSource shows its next rows before they are taken; refuse lists the takings,
// by number, that come too late: the rows have changed by then.
type peekingSource struct {
	rowsSource
	shown  *encoding.TrainBatch // nil = nothing
	takes  int
	refuse map[int]bool
	given  int // micro-batches
}

func newPeekingSource(seed uint64, size int, refuse ...int) *peekingSource {
	s := &peekingSource{rowsSource: *newRowsSource(seed, size, -1), refuse: map[int]bool{}}
	for _, n := range refuse {
		s.refuse[n] = true
	}
	return s
}

func (s *peekingSource) Peek(b *encoding.TrainBatch) (uint64, bool) {
	if s.shown == nil {
		s.shown = encoding.NewTrainBatch(s.size)
		nntest.AppendRows(s.shown, s.rng, s.size)
	}
	for i := range s.shown.N {
		b.AppendRow(s.shown, i)
	}
	return uint64(s.given), true
}

func (s *peekingSource) Take(ticket uint64) bool {
	s.takes++
	if s.refuse[s.takes] {
		s.shown = nil // the next rows are other ones
		return false
	}
	if s.shown == nil || ticket != uint64(s.given) {
		return false
	}
	s.shown = nil
	s.given++
	return true
}

func (s *peekingSource) Next(ctx context.Context, b *encoding.TrainBatch) error {
	s.given++
	if s.shown == nil {
		return s.rowsSource.Next(ctx, b)
	}
	for i := range s.shown.N {
		b.AppendRow(s.shown, i)
	}
	s.shown = nil
	return nil
}

// TestDeviceLooksAhead: a micro-batch that the device has ahead of its step is trained
// on if it is still the next one and dropped if not, and counts as taken by its step
// alone; evaluation in between drops it.
func TestDeviceLooksAhead(t *testing.T) {
	arch := smallArch()
	cfg := exactConfig(arch, 8)
	for _, accumulate := range []int{1, 2} {
		cfg.GradAccumSteps = accumulate
		host, remote, dev := pairOf(t, nn.Init(arch, 1), cfg)
		refused := 3
		plain, peeked := newPeekingSource(5, 8), newPeekingSource(5, 8, refused)
		for step := range 6 {
			if step > 0 && step == refused { // what is not shown any more is lost to the host too
				plain.Peek(encoding.NewTrainBatch(8))
				plain.shown = nil
			}
			if step == 5 {
				if len(dev.staged) != 1 {
					t.Errorf("%d micro-batches are on the device ahead of a step", len(dev.staged))
				}
				if _, err := remote.Evaluate(context.Background(), newRowsSource(2, 8, 2), 16); err != nil {
					t.Fatal(err)
				}
			}
			mustStep(t, host, plain)
			mustStep(t, remote, peeked)
			if plain.given != peeked.given || peeked.given != accumulate*(step+1) {
				t.Errorf("step %d: %d micro-batches taken, the host took %d", step, peeked.given, plain.given)
			}
			sameBits(t, fmt.Sprint("step ", step), host.Net(), remote.Net())
		}
		if want := 4; peeked.takes != want { // each step but the first, and the one after the evaluation
			t.Errorf("%d takings, want %d", peeked.takes, want)
		}
	}
}
