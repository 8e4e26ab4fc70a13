package track

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// TestMLflow holds the whole layout of a store against what MLflow's FileStore reads:
// fields of meta.yaml, names, values, lines of metrics, and no file that it would take for
// another metric or parameter.
func TestMLflow(t *testing.T) {
	o := options(t)
	net := filepath.Join(t.TempDir(), "job-main-s1-d2.safetensors")
	must(t, os.WriteFile(net, []byte("weights"), 0o666))
	nets := []string{net}
	o.Nets = func() ([]string, error) { return nets, nil }
	written(t, o.Metrics, phaseAt(monitor.RunStart, 0), stepAt(1, 0.25), stepAt(2, 1e-7),
		&monitor.Episode{Header: monitor.Header{Time: began}, Episode: 7, Plies: 80, Ends: map[string]int64{"threefold: 3?": 2}})
	must(t, New(o).Close())

	run := filepath.Dir(only(t, o.MLflow, experimentID, "*", "meta.yaml"))
	id := filepath.Base(run)
	uri := "file://" + strings.ReplaceAll(filepath.Dir(o.MLflow), " ", "%20") + "/ml%20runs/" + experimentID
	want := map[string]string{
		"../meta.yaml": "artifact_location: \"" + uri + "\"\ncreation_time: 1772600767890\nexperiment_id: \"" + experimentID +
			"\"\nlast_update_time: 1772600767890\nlifecycle_stage: active\nname: chessbrain\n",
		"meta.yaml": "artifact_uri: \"" + uri + "/" + id + "/artifacts\"\ndeleted_time: null\nend_time: null\nentry_point_name: ''\n" +
			"experiment_id: \"" + experimentID + "\"\nlifecycle_stage: active\nrun_id: \"" + id + "\"\nrun_name: \"runs/a\"\nrun_uuid: \"" + id +
			"\"\nsource_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: 1772600767890\nstatus: 1\ntags: []\nuser_id: ''\n",
		"params/name":                               `a "b": 'c'`,
		"params/net.blocks":                         "6",
		"params/training.losses_0_.weight":          "0.5",
		"tags/mlflow.runName":                       "runs/a",
		"tags/mlflow.source.name":                   "chessbrain",
		"tags/mlflow.source.type":                   "LOCAL",
		"metrics/train/loss":                        "1772600768890 0.25 1\n1772600769890 1e-07 2\n",
		"metrics/selfplay/plies":                    "1772600767890 80 7\n",
		"metrics/selfplay/end/threefold_ 3_":        "1772600767890 2 7\n",
		"artifacts/nets/job-main-s1-d2.safetensors": "weights",
	}
	for name, text := range want {
		if got := content(t, run, name); got != text {
			t.Errorf("%s:\n%q, want\n%q", name, got, text)
		}
	}
	must(t, filepath.WalkDir(o.MLflow, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(run, path)
		if _, known := want[filepath.ToSlash(rel)]; err == nil && !e.IsDir() && !known && !strings.HasPrefix(rel, "metrics/") {
			t.Errorf("%s: a file that belongs to nothing", rel)
		}
		return err
	}))

	// The user's own name, note and name of the experiment stay; settings and nets that are gone, go.
	must(t, os.WriteFile(filepath.Join(run, "tags", "mlflow.runName"), []byte("best"), 0o666))
	must(t, os.WriteFile(filepath.Join(run, "tags", "mlflow.note.content"), []byte("mine"), 0o666))
	must(t, os.WriteFile(filepath.Join(run, "..", "meta.yaml"), []byte("mine"), 0o666))
	o.Settings, nets = map[string]string{"net.blocks": "8"}, nil
	written(t, o.Metrics, phaseAt(monitor.RunFailed, 60))
	must(t, New(o).Close())
	meta := content(t, run, "meta.yaml")
	for _, line := range []string{"run_name: \"best\"\n", "status: 4\n", "end_time: 1772600827890\n"} {
		if !strings.Contains(meta, line) {
			t.Errorf("meta.yaml lacks %q:\n%s", line, meta)
		}
	}
	if content(t, run, "tags", "mlflow.note.content") != "mine" || content(t, run, "..", "meta.yaml") != "mine" ||
		content(t, run, "tags", "mlflow.runName") != "best" {
		t.Error("what the user wrote is gone")
	}
	if got := only(t, run, "params", "*"); content(t, got) != "8" {
		t.Errorf("parameter %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(run, "artifacts", "nets", "*")); len(left) > 0 {
		t.Errorf("nets that the run removed are still there: %q", left)
	}
}

// TestStatus is that of a run in MLflow after each phase.
func TestStatus(t *testing.T) {
	for phase, status := range map[string]string{
		monitor.RunStart: "1", monitor.RunResume: "1", monitor.RunDone: "3", monitor.RunFailed: "4", monitor.RunStopped: "5",
	} {
		o := options(t)
		written(t, o.Metrics, stepAt(1, 1), phaseAt(phase, 2))
		must(t, New(o).Close())
		if meta := content(t, only(t, o.MLflow, experimentID, "*", "meta.yaml")); !strings.Contains(meta, "\nstatus: "+status+"\n") {
			t.Errorf("after %s:\n%s", phase, meta)
		}
	}
}

// TestNetsTakeNoDisk: an artifact is the run's own file, and follows when that is replaced.
func TestNetsTakeNoDisk(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	same := func() bool {
		a, errA := os.Stat(from)
		b, errB := os.Stat(to)
		return errA == nil && errB == nil && os.SameFile(a, b)
	}
	for i, text := range []string{"one", "two", "another"} {
		must(t, os.RemoveAll(from))
		must(t, os.WriteFile(from, []byte(text), 0o666))
		at := time.Unix(1000+int64(i), 0)
		must(t, os.Chtimes(from, at, at))
		for range 2 {
			must(t, sameFile(from, to))
			if !same() {
				t.Errorf("%s is no link", text)
			}
		}
	}
	must(t, os.Remove(from))
	if err := sameFile(from, to); !os.IsNotExist(err) {
		t.Errorf("a net that is gone: %v", err)
	}
}

// TestLegal are names as MLflow takes them, which never lead out of a directory.
func TestLegal(t *testing.T) {
	for name, want := range map[string]string{
		"train/loss": "train/loss", "a.b[3].c": "a.b_3_.c", "../../x": "x", "/x": "x", "a//b/": "a/b", "ü:*": "___",
		strings.Repeat("n", 300): strings.Repeat("n", 250),
	} {
		if got := legal(name); got != want {
			t.Errorf("legal(%q) = %q, want %q", name, got, want)
		}
	}
}
