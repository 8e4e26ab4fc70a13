package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// Every checkpoint gives one event of its raw weights and one of its average, with
// its own step and time; a second call adds none, and after a torn line only what
// that line had. The run itself is left alone.
func TestBackfill(t *testing.T) {
	dir := newRun(t)
	out := filepath.Join(dir, "metrics", "toy-backfill")
	before := treeOf(t, dir, filepath.Join(dir, "metrics"))
	metrics := treeOf(t, filepath.Join(dir, "metrics", "toy"), "")
	opt := BackfillOptions{Path: dir, Data: Validation, Since: 6, Show: unseen}
	run := func() *BackfillResult {
		t.Helper()
		r, err := Backfill(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// Steps 6, 12, 18 and 24, each with an average.
	if r := run(); r.Checkpoints != 4 || r.Written != 8 || r.There != 0 || r.Out != out || len(r.Problems) > 0 {
		t.Fatalf("%+v", r)
	}
	events := validations(t, out)
	for i, e := range events {
		s := openRun(t, dir+"@"+[]string{"6", "12", "18", "24"}[i/2])
		created, err := time.Parse(time.RFC3339, s.Checkpoint.Manifest.Created)
		if err != nil || !e.Time.Equal(created) || e.Step != s.Checkpoint.Manifest.Step || e.Episode != e.Step/3 || e.Job != "toy" ||
			e.Weights != []string{monitor.WeightsRaw, monitor.WeightsSWA}[i%2] || e.Seq != uint64(i+1) {
			t.Errorf("event %d: %+v, checkpoint of %s: %v", i, e, s.Checkpoint.Manifest.Created, err)
		}
	}
	// The newest one is what eval says.
	s := openRun(t, dir)
	want, err := Eval(context.Background(), s, openRows(t, s, Validation), EvalOptions{})
	if err != nil || events[6].Losses["policy_loss"] != want.Losses[0].Mean || events[6].Rows != want.Rows {
		t.Errorf("%v: %+v, eval says %+v", err, events[6], want)
	}
	opt.Since = 0
	if r := run(); r.Written != 1 || r.There != 8 { // step 0 has no average
		t.Errorf("once more: %+v", r)
	}
	path := filepath.Join(out, monitor.MetricsName)
	data := filetest.Read(t, path)
	filetest.Write(t, path, data[:len(data)-10])
	if r := run(); r.Written != 1 || r.There != 8 {
		t.Errorf("after a torn line: %+v", r)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(data) {
		t.Errorf("the events differ from those before: %v", err)
	}
	boards, err := filepath.Glob(filepath.Join(out, "events.out.tfevents.*"))
	if err != nil || len(boards) != 1 {
		t.Errorf("event files %v", boards)
	}
	if treeOf(t, dir, filepath.Join(dir, "metrics")) != before || treeOf(t, filepath.Join(dir, "metrics", "toy"), "") != metrics {
		t.Error("the run was changed")
	}
}

// Events of other rows or losses do not go beside those that are there; a damaged
// checkpoint is named and the others are measured.
func TestBackfillRefuses(t *testing.T) {
	dir := newRun(t)
	opt := BackfillOptions{Path: dir, Data: Validation, Rows: 8, Out: filepath.Join(t.TempDir(), "m"), Show: unseen}
	broken := filepath.Join(dir, "train", "main", "checkpoints", "toy_step00000012", "net.safetensors")
	filetest.Write(t, broken, "x")
	r, err := Backfill(context.Background(), opt)
	if err != nil || r.Written != 7 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "toy_step00000012") {
		t.Errorf("%+v %v", r, err)
	}
	opt.Rows = 9
	if _, err := Backfill(context.Background(), opt); !isInput(err) || !strings.Contains(err.Error(), "events of other data or losses") {
		t.Errorf("other rows: %v", err)
	}
	opt.Data = Loader
	if _, err := Backfill(context.Background(), opt); err == nil {
		t.Error("a loader is taken")
	}
	opt = BackfillOptions{Path: filepath.Join(t.TempDir(), "none"), Data: Validation}
	if _, err := Backfill(context.Background(), opt); err == nil {
		t.Error("no checkpoints are taken")
	}
}

func unseen(*monitor.Validation) error { return nil }
