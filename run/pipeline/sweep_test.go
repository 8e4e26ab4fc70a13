package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/replay/prepare"
)

// TestSweep trains two learning rates, is stopped between them, goes on, takes a
// third one, and refuses other data.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	opt := tiny(dir)
	opt.Steps = []string{SelfPlay, Shuffle}
	mustRun(t, opt)
	grid := func(text string) []Axis {
		g, err := ParseGrid([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	log := opt.Log
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	o := SweepOptions{Grid: grid("lr=0.02,0.0001,batch-size=8"), Data: []string{opt.Dir(Shuffle)},
		Training: Training{Results: filepath.Join(dir, "sweep"), Epochs: 2, Seed: 3, Config: ConfigSource{Overrides: []string{"model.net=16x1"}},
			Command: "test", Version: "test", Log: slog.New(stopAt{log.Handler(), "trial begins", "lr-0.0001_batch-size-8", stop})}}
	if _, err := Sweep(ctx, o); err == nil {
		t.Fatal("not stopped")
	}
	done, err := os.ReadFile(filepath.Join(o.Results, "lr-0.02_batch-size-8", trialFile))
	if err != nil || !strings.Contains(string(done), `"status": "done"`) {
		t.Fatalf("%s, %v", done, err)
	}
	o.Log = log
	report, err := Sweep(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	results, best := report.Results, report.Best
	m := shuffleIn(t, opt.Dir(Shuffle))
	for _, r := range results {
		if r.Status != TrialDone || r.Steps != (2*m.TrainRows+7)/8 || int64(r.Rows) != m.HeldRows || !(r.Policy > 0) || !exists(r.Net) {
			t.Errorf("%+v with %d and %d rows", r, m.TrainRows, m.HeldRows)
		}
	}
	again, err := os.ReadFile(filepath.Join(o.Results, "lr-0.02_batch-size-8", trialFile))
	if err != nil || string(again) != string(done) {
		t.Error("a trial that was done was done again")
	}
	if link, err := os.Readlink(filepath.Join(o.Results, bestLink)); err != nil || link != best || best == "" {
		t.Errorf("best %q is linked to %q: %v", best, link, err)
	}
	o.Grid = grid("lr=0.02,0.0001,0.005,batch-size=8")
	more, err := Sweep(context.Background(), o)
	if err != nil || len(more.Results) != 3 || !reflect.DeepEqual(more.Results[0], results[0]) {
		t.Errorf("a further value: %+v, %v", more, err)
	}
	other := tiny(t.TempDir())
	other.Steps, other.Seed = []string{SelfPlay, Shuffle}, 8
	mustRun(t, other)
	o.Data = []string{other.Dir(Shuffle)}
	if _, err := Sweep(context.Background(), o); !errors.Is(err, prepare.ErrOther) {
		t.Errorf("other data: %v", err)
	}
	o.Data, o.Seed = []string{opt.Dir(Shuffle)}, 4
	if _, err := Sweep(context.Background(), o); !errors.Is(err, prepare.ErrOther) {
		t.Errorf("another seed: %v", err)
	}
}

// TestSweepChecksAll holds that no trial begins where one cannot be trained.
func TestSweepChecksAll(t *testing.T) {
	dir := t.TempDir()
	opt := tiny(dir)
	opt.Steps = []string{SelfPlay, Shuffle}
	mustRun(t, opt)
	o := SweepOptions{Data: []string{opt.Dir(Shuffle)}, Training: Training{Results: filepath.Join(dir, "sweep"), Epochs: 1, Log: opt.Log,
		Config: ConfigSource{Overrides: []string{"training.swa.period=1,mcts.cpuct=2"}}}}
	for _, text := range []string{"batch-size=8,-3", "net=16x1,moon", "training.moon=1", "mcts-cpuct=1,3", "mcts.cpuct=3"} {
		var err error
		if o.Grid, err = ParseGrid([]string{text}); err == nil {
			_, err = Sweep(context.Background(), o)
		}
		if err == nil || exists(o.Results) {
			t.Errorf("%s: %v", text, err)
		}
	}
	o.Grid = []Axis{{"lr", []string{"0.1"}}}
	o.Data = []string{filepath.Join(dir, "nowhere")}
	if _, err := Sweep(context.Background(), o); !errors.Is(err, prepare.ErrNoInput) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
}
