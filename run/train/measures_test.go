package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/run"
)

// measured returns the measurements and the validations in a run's metrics file, by name
// (that of a validation is "") and step; one that is there twice is an error.
func measured(t *testing.T, dir string) map[string]map[int64]*monitor.Validation {
	t.Helper()
	d, _ := jobOf(t, dir)
	f, err := fsx.Open(filepath.Join(d.Metrics, monitor.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := map[string]map[int64]*monitor.Validation{"": {}}
	if _, err := monitor.Replay(f, func(e monitor.Event) error {
		switch e := e.(type) {
		case *monitor.Validation:
			found[""][e.Step] = e
		case *monitor.Measure:
			if found[e.Name] == nil {
				found[e.Name] = map[int64]*monitor.Validation{}
			}
			if found[e.Name][e.Step] != nil {
				t.Errorf("%s was measured twice at step %d", e.Name, e.Step)
			}
			found[e.Name][e.Step] = &e.Validation
			e.Header = monitor.Header{}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestMeasures: each measurement of the configuration is made at its steps, on its rows
// and with its weights; the training does not follow from them, and a run that was stopped
// in between has the same ones.
func TestMeasures(t *testing.T) {
	other := t.TempDir() + "/other"
	train(t, other, "")
	games := run.Dir{Root: other}.Selfplay()
	const plain = "--deterministic=true --swa-period=5"
	more := plain + fmt.Sprintf(` metrics { measure { name: "own" period: 2 } measure { name: "mean" period: 2 weights: SWA }
		measure { name: "others" period: 3 data: %q } }`, games)
	without, dir, stopped := t.TempDir()+"/run", t.TempDir()+"/run", t.TempDir()+"/run"
	train(t, without, plain)
	s, _ := train(t, dir, more)
	if checkpointNet(t, dir).ID() != checkpointNet(t, without).ID() {
		t.Error("the training follows from its measurements")
	}
	found := measured(t, dir)
	for name, period := range map[string]int64{"own": 2, "mean": 2, "others": 3} {
		first := period
		if name == "mean" {
			first = 6 // the average begins at step 5
		}
		if name != "others" {
			for first <= s.Steps && found[name][first] == nil {
				first += period // until a game is held out
			}
		}
		for step := int64(1); step <= s.Steps; step++ {
			e, due := found[name][step], step%period == 0 && step >= first
			if (e != nil) != due {
				t.Errorf("%s at step %d: %v, due %t", name, step, e, due)
			}
			if weights := map[bool]string{true: monitor.WeightsSWA, false: monitor.WeightsRaw}[name == "mean"]; e != nil && (e.Weights != weights || e.Rows == 0 || e.Rows > 16 || e.Games == 0) {
				t.Errorf("%s at step %d: %+v", name, step, e)
			}
		}
	}
	same := 0
	for step, e := range found["own"] {
		if v := found[""][step]; v != nil && v.Weights == monitor.WeightsRaw && v.Rows == e.Rows {
			if same++; fmt.Sprint(v.Losses) != fmt.Sprint(e.Losses) { // some are NaN
				t.Errorf("step %d: %v, the validation says %v", step, e.Losses, v.Losses)
			}
		}
		if mean := found["mean"][step]; mean != nil && mean.Losses["policy_loss"] == e.Losses["policy_loss"] {
			t.Errorf("step %d: the averaged weights have the loss of the others", step)
		}
	}
	if same == 0 {
		t.Error("no validation on the same rows")
	}

	ctx, stop := context.WithCancel(t.Context())
	if _, log, err := tryTrain(t, ctx, stopped, more, monitor.SinkFunc(func(e monitor.Event) error {
		if e, ok := e.(*monitor.Step); ok && e.Step == 15 {
			stop()
		}
		return nil
	})); !errors.Is(err, run.ErrInterrupted) {
		t.Fatalf("%v\n%s", err, log)
	}
	train(t, stopped, more)
	if again := measured(t, stopped); len(again) != 4 || checkpointNet(t, stopped).ID() != checkpointNet(t, dir).ID() {
		t.Errorf("stopped in between: other weights, or measurements %v", again)
	} else {
		delete(again, "")
		delete(found, "")
		got, err := json.Marshal(again)
		want, wantErr := json.Marshal(found)
		if errors.Join(err, wantErr) != nil || !bytes.Equal(got, want) {
			t.Errorf("stopped in between: %s %v\nundisturbed: %s", got, err, want)
		}
	}
}

// TestMeasuresRefused: nonsense is refused before anything is written.
func TestMeasuresRefused(t *testing.T) {
	empty := t.TempDir() + "/empty"
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for more, want := range map[string]string{
		`measure { }`:                                        "metrics.measure[0].name",
		`measure { name: "a/b" }`:                            "a name has 1 to 40",
		`measure { name: "swa" }`:                            "is taken",
		`measure { name: "x" } measure { name: "x" }`:        `metrics.measure[1].name = "x": is taken`,
		`measure { name: "x" period: 0 }`:                    "metrics.measure[0].period",
		`measure { name: "x" weights: SWA }`:                 "there is no average to measure",
		`measure { name: "x" data: "/no/such" }`:             "metrics.measure[0].data",
		fmt.Sprintf(`measure { name: "x" data: %q }`, empty): "holds no *.gz, *.tar or *.games",
	} {
		dir := t.TempDir() + "/run"
		_, err := runtest.ResolveText(dir, "metrics { "+more+" }")
		if err == nil {
			_, _, err = tryTrain(t, context.Background(), dir, "metrics { "+more+" }")
		}
		var exit interface{ ExitCode() int }
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%s: %v", more, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the run directory was made", more)
		}
	}
}
