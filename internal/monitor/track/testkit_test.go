package track

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// began is when the runs of the tests begin.
var began = time.Date(2026, 3, 4, 5, 6, 7, 890e6, time.UTC)

// stepAt is a step of the tests' runs, a second after the one before.
func stepAt(n int64, loss float64) *monitor.Step {
	return &monitor.Step{Header: monitor.Header{Time: began.Add(time.Duration(n) * time.Second)}, Step: n, Episode: 2 * n,
		Losses: monitor.Numbers{"policy_loss": monitor.Number(loss)}, Loss: monitor.Number(loss), LR: 0.5}
}

// phaseAt is a start or an end.
func phaseAt(phase string, second int64) *monitor.Run {
	return &monitor.Run{Header: monitor.Header{Time: began.Add(time.Duration(second) * time.Second)}, Phase: phase}
}

// written appends events to a metrics.jsonl as a run does.
func written(t *testing.T, path string, events ...monitor.Event) {
	t.Helper()
	var lines []byte
	for _, e := range events {
		h := e.Head()
		h.V, h.Job = monitor.SchemaVersion, "job"
		switch e.(type) {
		case *monitor.Run:
			h.Type = "run"
		case *monitor.Step:
			h.Type = "step"
		case *monitor.Episode:
			h.Type = "episode"
		default:
			t.Fatalf("no type of %T", e)
		}
		var err error
		if lines, err = monitor.AppendJSON(lines, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := appendTo(path, lines); err != nil {
		t.Fatal(err)
	}
}

// options are those of a run in a new directory.
func options(t *testing.T) Options {
	dir := t.TempDir()
	return Options{Metrics: filepath.Join(dir, "metrics.jsonl"), Name: "runs/a", Version: "1.2.3", NetSuffix: ".safetensors",
		Settings: map[string]string{"net.blocks": "6", "training.losses[0].weight": "0.5", "name": `a "b": 'c'`},
		MLflow:   filepath.Join(dir, "ml runs"), Wandb: filepath.Join(dir, "wandb")}
}

// must fails the test.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content is what a file holds.
func content(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(data)
}

// only is the single match of a pattern.
func only(t *testing.T, pattern ...string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern...))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%s matches %q, want one", filepath.Join(pattern...), found)
	}
	return found[0]
}

// lossLines are the lines of the loss in a store after steps 1 to n, with loss 1/step.
func lossLines(n int64) (lines string) {
	for i := int64(1); i <= n; i++ {
		lines += fmt.Sprintf("%d %v %d\n", began.UnixMilli()+1000*i, 1/float64(i), i)
	}
	return lines
}
