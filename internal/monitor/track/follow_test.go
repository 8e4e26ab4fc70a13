package track

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// steps are the events of steps from to to, with loss 1/step.
func steps(from, to int64) (events []monitor.Event) {
	for i := from; i <= to; i++ {
		events = append(events, stepAt(i, 1/float64(i)))
	}
	return events
}

// losses are the steps and losses of the history of an offline run.
func losses(t *testing.T, path string) (lines string) {
	t.Helper()
	for i, r := range logged(t, path, recordHistory) {
		values := items(t, r, 1)
		if values["_step"] != fmt.Sprint(i) {
			t.Errorf("row %d is W&B's step %s", i, values["_step"])
		}
		lines += values["step"] + " " + values["train/policy_loss"] + "\n"
	}
	return lines
}

// wantLosses is what losses are of steps 1 to n.
func wantLosses(n int64) (lines string) {
	for i := int64(1); i <= n; i++ {
		lines += fmt.Sprintf("%d %v\n", i, 1/float64(i))
	}
	return lines
}

// holds says that both programs have steps 1 to n of a run, each once.
func holds(t *testing.T, o Options, n int64) {
	t.Helper()
	same(t, "MLflow", content(t, only(t, o.MLflow, experimentID, "*", "metrics", "train"), "policy_loss"), lossLines(n))
	same(t, "W&B", losses(t, only(t, o.Wandb, "offline-run-*", "*.wandb")), wantLosses(n))
}

// same compares lines and says which is the first that differs.
func same(t *testing.T, where, got, want string) {
	t.Helper()
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s: line %d is %q, want %q", where, i+1, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Fatalf("%s: %d lines, want %d", where, len(a), len(b))
	}
}

// TestFollows holds that points are neither doubled nor lost: when the file grows, when it
// is cut back and grows again, however far, and when another process begins afresh.
func TestFollows(t *testing.T) {
	o := options(t)
	f := New(o)
	must(t, f.Update()) // no file yet
	written(t, o.Metrics, phaseAt(monitor.RunStart, 0))
	must(t, f.Update())
	written(t, o.Metrics, steps(1, 3)...)
	must(t, f.Update())
	holds(t, o, 3)
	must(t, f.Update()) // nothing new
	holds(t, o, 3)
	checkpoint := len(content(t, o.Metrics))

	written(t, o.Metrics, stepAt(4, 44), stepAt(5, 55))
	must(t, appendTo(o.Metrics, []byte(`{"v":1,"type":"st`))) // killed in the middle of a line
	must(t, f.Update())
	must(t, os.Truncate(o.Metrics, int64(checkpoint)))
	written(t, o.Metrics, steps(4, 9)...) // it is longer than before, and other steps
	must(t, f.Update())
	holds(t, o, 9)

	must(t, os.Truncate(o.Metrics, int64(checkpoint)))
	must(t, f.Update()) // shorter
	holds(t, o, 3)

	written(t, o.Metrics, steps(4, 6)...)
	must(t, New(o).Close()) // of another process, after a kill
	holds(t, o, 6)
	written(t, o.Metrics, steps(7, 8)...)
	must(t, f.Update()) // whose output the other process replaced
	holds(t, o, 8)
	written(t, o.Metrics, steps(9, 9)...)
	must(t, f.Close())
	holds(t, o, 9)
}

// TestManyRows are more than is kept before it is written.
func TestManyRows(t *testing.T) {
	o := options(t)
	const n = 6000
	written(t, o.Metrics, steps(1, n)...)
	must(t, New(o).Close())
	if info, err := os.Stat(only(t, o.Wandb, "offline-run-*", "*.wandb")); err != nil || info.Size() < 3<<19 {
		t.Fatalf("%v, %v: the log is too small for this test", info, err)
	}
	holds(t, o, n)
}

// TestLeftOut are numbers that are not finite, and events of newer programs.
func TestLeftOut(t *testing.T) {
	o := options(t)
	written(t, o.Metrics, stepAt(1, 1), stepAt(2, math.NaN()), stepAt(3, math.Inf(1)))
	must(t, appendTo(o.Metrics, []byte(`{"v":1,"type":"dream"}`+"\n")))
	must(t, New(o).Close())
	if got := content(t, only(t, o.MLflow, experimentID, "*", "metrics", "train"), "policy_loss"); got != lossLines(1) {
		t.Errorf("MLflow has %q", got)
	}
	if got := losses(t, only(t, o.Wandb, "offline-run-*", "*.wandb")); got != "1 1\n2 \n3 \n" {
		t.Errorf("W&B has %q", got)
	}
}

// TestDamaged says where, writes nothing wrong, and goes on once that is gone.
func TestDamaged(t *testing.T) {
	o := options(t)
	f := New(o)
	written(t, o.Metrics, steps(1, 2)...)
	must(t, f.Update())
	whole := len(content(t, o.Metrics))
	must(t, appendTo(o.Metrics, []byte("{}}\n")))
	if err := f.Update(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s, byte %d", o.Metrics, whole)) {
		t.Errorf("damaged: %v", err)
	}
	holds(t, o, 2)
	must(t, os.Truncate(o.Metrics, int64(whole)))
	written(t, o.Metrics, steps(3, 3)...)
	must(t, f.Update())
	holds(t, o, 3)

	newer := filepath.Join(t.TempDir(), "m")
	must(t, appendTo(newer, []byte(`{"v":99,"type":"step"}`+"\n")))
	o.Metrics = newer
	if err := New(o).Close(); !errors.Is(err, monitor.ErrVersion) {
		t.Errorf("a newer schema: %v", err)
	}
}

// TestOneOfTwo writes nothing for a program that is not asked for.
func TestOneOfTwo(t *testing.T) {
	o := options(t)
	written(t, o.Metrics, steps(1, 1)...)
	mlflow, wandb := o.MLflow, o.Wandb
	o.Wandb = ""
	must(t, New(o).Close())
	o.MLflow, o.Wandb = "", wandb
	if _, err := os.Stat(wandb); !os.IsNotExist(err) {
		t.Errorf("W&B: %v", err)
	}
	must(t, os.RemoveAll(mlflow))
	must(t, New(o).Close())
	if _, err := os.Stat(mlflow); !os.IsNotExist(err) {
		t.Errorf("MLflow: %v", err)
	}
	only(t, wandb, "*", "*.wandb")
}
