package cuda

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/trainer"
)

// inGroup has cfg train on n emulated devices, whose streams run late.
func inGroup(t *testing.T, cfg trainer.Config, n int) trainer.Config {
	t.Helper()
	devices := make([]*Device, n)
	for i := range devices {
		devices[i] = openEmulated(t, emulated.Options{Shuffled: true})
	}
	cfg.Device = func(c device.Config) (device.Trainer, error) { return NewGroup(devices, c) }
	return cfg
}

// trained is a trainer of its own device with the losses that suit the net.
func trained(t *testing.T, net *nn.Net, cfg trainer.Config) *trainer.Trainer {
	t.Helper()
	cfg.Losses = trainer.LossesFor(net.Arch, cfg.Losses)
	tr, err := trainer.New(net, cfg)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, tr)
	return tr
}

// byDevice sorts the micro-batches of each step by the devices of a group that take them.
func byDevice(s *batchList, step, devices int) *batchList {
	sorted := &batchList{}
	for batches := range slices.Chunk(s.batches, step) {
		for d := range devices {
			for i := d; i < len(batches); i += devices {
				sorted.batches = append(sorted.batches, batches[i])
			}
		}
	}
	return sorted
}

// TestGroup: steps on several devices are those of one that takes the first device's
// micro-batches first, but for the order of sums, and the same bits again; a step that ends
// early, measures and statistics of the average, too.
func TestGroup(t *testing.T) {
	for _, v := range []struct {
		arch      nn.Arch
		devices   int
		precision device.Precision
		optimizer string
		bound     float64
	}{
		{smallArch(), 2, device.FP32, trainer.OptimizerSGD, 1e-5},
		{smallArch(), 3, device.BF16, trainer.OptimizerAdamW, 1e-4}, // it divides a gradient that is all rounding by its own size
		{nntest.AttentionNets()["dense"], 2, device.FP32, trainer.OptimizerSGD, 1e-5},
	} {
		if v.arch.Attention() && !slow.On {
			continue
		}
		t.Run(fmt.Sprintf("%s on %d", v.arch, v.devices), func(t *testing.T) {
			cfg := trainer.DefaultConfig()
			cfg.BatchSize, cfg.GradAccumSteps, cfg.Optimizer, cfg.Precision = 3, 2*v.devices, v.optimizer, v.precision
			cfg.Schedule = trainer.ConstantLR(.01)
			cfg.SWA = trainer.SWAConfig{Period: 1, MaxAverages: 2}
			net := nntest.Net(v.arch, 5)
			one := newTrainer(t, openEmulated(t, emulated.Options{}), net, cfg)
			group, again := trained(t, net, inGroup(t, cfg, v.devices)), trained(t, net, inGroup(t, cfg, v.devices))
			var sizes []int
			for i := range 5*v.devices + 1 { // two whole steps and one that ends after the first devices
				sizes = append(sizes, 3-i%2)
			}
			all := []*trainer.Trainer{one, group, again}
			var measured []trainer.Measures
			for _, tr := range all {
				rows := randomBatches(1, sizes...)
				if tr == one {
					rows = byDevice(rows, cfg.GradAccumSteps, v.devices)
				}
				for range 3 {
					measured = append(measured, mustStep(t, tr, rows).Measures)
				}
				if _, err := tr.Step(t.Context(), rows); err == nil {
					t.Error("a step without rows")
				}
				e, err := tr.Evaluate(t.Context(), randomBatches(3, 3, 2, 3), 7)
				if err == nil {
					err = tr.RefreshSWA(t.Context(), randomBatches(2, 3, 2, 3, 3), 11)
				}
				if err != nil {
					t.Fatal(err)
				}
				measured = append(measured, e.Measures)
			}
			for i, want := range measured[:4] {
				sameMeasures(t, measured[4+i], want, v.bound)
			}
			sameNet(t, "net", group.Net(), one.Net(), v.bound)
			sameNet(t, "average", group.SWA(), one.SWA(), v.bound)
			if group.Net().ID() != again.Net().ID() || group.SWA().ID() != again.SWA().ID() {
				t.Error("the same steps again gave other bits")
			}
		})
	}
}

// TestGroupSkips: where one device finds a gradient that is not finite, none changes.
func TestGroupSkips(t *testing.T) {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.GradAccumSteps, cfg.Precision = 2, 2, device.FP16
	net := nntest.Net(smallArch(), 7)
	one, group := newTrainer(t, openEmulated(t, emulated.Options{}), net, cfg), trained(t, net, inGroup(t, cfg, 2))
	for _, tr := range []*trainer.Trainer{one, group} {
		rows := randomBatches(5, 2, 2, 2, 2)
		inf := float32(1e38)
		rows.batches[1].Weight[0] = inf * inf // of the second device
		if s := mustStep(t, tr, rows); !s.Skipped || tr.Net().ID() != net.ID() {
			t.Errorf("skipped %v, the net changed: %v", s.Skipped, tr.Net().ID() != net.ID())
		}
		if s := mustStep(t, tr, rows); s.Skipped {
			t.Error("the next step was skipped")
		}
	}
	sameNet(t, "net", group.Net(), one.Net(), 1e-5)
}

// TestGroupWindow: each device has the kept rows; where one has no room, none keeps any.
func TestGroupWindow(t *testing.T) {
	cfg := trainer.DefaultConfig()
	net := nntest.Net(smallArch(), 3)
	config := device.Config{Arch: net.Arch, Capacity: 2, Optimizer: "sgd", Terms: []device.Term{{Head: device.Policy, Weight: 1}}, BNMomentum: cfg.BNMomentum}
	group := func(bytes uint64) *Group {
		g, err := NewGroup([]*Device{openEmulated(t, emulated.Options{}), openEmulated(t, emulated.Options{Bytes: bytes})}, config)
		if err != nil {
			t.Fatal(err)
		}
		closeAtEnd(t, g)
		return g
	}
	g := group(0)
	rows := randomBatches(4, 4).batches[0]
	if ok, err := g.OpenWindow(4); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := g.Keep(0, rows); err != nil {
		t.Fatal(err)
	}
	state := &device.State{Params: make([][]float32, len(net.Params)), Moments: make([][][]float32, 1)}
	for i, p := range net.Params {
		state.Params[i] = p.Data
		if nn.Specs(net.Arch)[i].Kind.Trained() {
			state.Moments[0] = append(state.Moments[0], make([]float32, len(p.Data)))
		}
	}
	if err := errors.Join(g.Upload(state), g.BeginStep()); err != nil {
		t.Fatal(err)
	}
	losses := func(stage func(slots ...int) error) (all []float64) {
		for _, slots := range [][]int{{0, 1}, {2, 3}} { // one on each device
			if err := errors.Join(stage(slots...), g.Start(device.Pass{Running: true, LossScale: 1})); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			var out device.Rows
			if err := g.Finish(&out); err != nil {
				t.Fatal(err)
			}
			for _, r := range out.Terms[0] {
				all = append(all, r.Loss)
			}
		}
		return all
	}
	want := losses(func(slots ...int) error { return g.Stage(rowsOf(rows, slots...)) })
	got := losses(func(slots ...int) error {
		var kept []device.KeptRow
		for _, s := range slots {
			kept = append(kept, device.Kept(s, encoding.Transform(0)))
		}
		return g.StageKept(kept, []float32{1, 1})
	})
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) != 4 {
		t.Errorf("losses of kept rows %v, want %v", got, want)
	}
	if a, b := g.Finish(&device.Rows{}), g.Start(device.Pass{}); a == nil || b == nil {
		t.Errorf("a pass of nothing: %v, %v", a, b)
	}
	small := group(64 << 20)
	if ok, err := small.OpenWindow(100_000); ok || err != nil {
		t.Errorf("a window where one device has no room: %v, %v", ok, err)
	}
	for i, tr := range small.all {
		if tr.window != nil {
			t.Errorf("device %d has a window", i)
		}
	}
}

// TestGroupShortOfMemory makes a group and takes a step, and runs out of memory at each place
// on one of the devices.
func TestGroupShortOfMemory(t *testing.T) {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.GradAccumSteps = 2, 2
	net := nntest.Net(smallArch(), 3)
	cfg.Losses = trainer.LossesFor(net.Arch, cfg.Losses)
	other, err := Open(emulated.Open(t))
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, other)
	everyShortage(t, 60, func(d *Device) error {
		cfg.Device = func(c device.Config) (device.Trainer, error) { return NewGroup([]*Device{d, other}, c) }
		tr, err := trainer.New(net, cfg)
		if err != nil {
			return err
		}
		_, err = tr.Step(t.Context(), randomBatches(1, 2, 2))
		if closed := tr.Close(); closed != nil {
			t.Fatal(closed)
		}
		return err
	})
}
