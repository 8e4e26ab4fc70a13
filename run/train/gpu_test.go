package train

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestRunOnGPU: a run that plays and trains on a device, is saved, and goes on on the
// CPU and on the device again.
func TestRunOnGPU(t *testing.T) {
	opened := trainOnEmulator(t)
	dir := t.TempDir() + "/run"
	const small = " --mcts-simulations=2 --max-plies=6 --train-steps-per-episode=2 --validate-every=0 --replay-size=1000"
	for i, devices := range []string{"cuda,cuda", "cpu,cpu", "cuda:0,cpu"} {
		s, log := train(t, dir, fmt.Sprintf("--episodes=%d --devices=%s", 2*(i+1), devices)+small)
		if s.Steps != int64(4*(i+1)) {
			t.Fatalf("%s: %d steps\n%s", devices, s.Steps, log)
		}
		first := log[:strings.IndexByte(log, '\n')]
		names := strings.Split(strings.ReplaceAll(devices, ":0", ""), ",")
		for k, what := range []string{"trainer=", "producers="} {
			want := what + "cpu"
			if names[k] == "cuda" {
				want = what + `"cuda:0 (emulated)"`
			}
			if !strings.Contains(first, "msg=devices") || !strings.Contains(first, want) {
				t.Errorf("%s: the first line is %q, want %s in it", devices, first, want)
			}
		}
		if i == 0 && *opened < 2 {
			t.Errorf("the device was opened %d times", *opened)
		}
	}
	_, info, err := setup.OpenDir(dir)
	if err != nil || info.Device != "cuda:0" || info.ProducerDevice != "cpu" {
		t.Errorf("run.json: %+v, %v", info.Arithmetic, err)
	}
}

// TestRowsOnGPU: a run learns the same from rows that its device keeps, from rows that
// are copied batch by batch; one whose device has no room for them says so.
func TestRowsOnGPU(t *testing.T) {
	trainOnEmulator(t)
	var nets []string
	for _, tc := range []struct {
		size   int64
		window bool
		says   string
	}{{14, true, "the device keeps the rows of the window"}, {14, false, ""}, {1e9, true, "no room for the rows of the window"}} {
		e := runtest.Resolve(t, t.TempDir()+"/run", "--episodes=2 --devices=cuda,cpu --mcts-simulations=2 --max-plies=8 --train-steps-per-episode=1 --batch-size=5 --grad-accum-steps=2 --validate-every=0 --symmetries=true")
		e.Config.Training.DeviceWindow, e.Config.Training.ReplaySize = &tc.window, &tc.size
		var log strings.Builder
		if _, err := Train(t.Context(), Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: runtest.LogTo(&log)}); err != nil {
			t.Fatal(err)
		}
		c, err := setup.FindCheckpoint(e.Config.GetRunDir())
		if err != nil {
			t.Fatal(err)
		}
		net, err := setup.CheckpointNet(c)
		if err != nil {
			t.Fatal(err)
		}
		nets = append(nets, net.ID())
		if c, err := setup.TrainerConfig(e.Config, net.Arch); err != nil || c.Window != 0 {
			t.Errorf("a trainer whose batches name no rows would keep %d on its device, %v", c.Window, err)
		}
		if text := log.String(); !strings.Contains(text, tc.says) || tc.says == "" && strings.Contains(text, "rows of the window") {
			t.Errorf("%+v: the log is\n%s", tc, text)
		}
	}
	if nets[1] != nets[0] {
		t.Errorf("the nets differ: %q", nets)
	}
}

// trainOnEmulator lets this machine have one emulated GPU for the rest of the test, and
// returns how often it was opened.
func trainOnEmulator(t *testing.T) (opened *int) {
	t.Helper()
	old, n := setup.Machine, 0
	t.Cleanup(func() { setup.Machine = old })
	setup.Machine = setup.GpusOf(func() (int, error) { return 1, nil },
		func(int) (driver.Info, error) { return emulated.Open(t).Info(), nil },
		func(int) (driver.Device, error) { n++; return emulated.Open(t), nil })
	return &n
}
