package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestExport: template, how often, and how many are kept.
func TestExport(t *testing.T) {
	dir := t.TempDir() + "/run"
	const more = `--episodes=8 export { path: "nets/{training}/{job}-{step}-{rows}" every_checkpoints: 1 keep: 2 }`
	s, _ := train(t, dir, more)
	nets, err := filepath.Glob(filepath.Join(dir, "nets", "main", "run-*.safetensors"))
	if err != nil || len(nets) != 2 || filepath.Dir(s.Net) != filepath.Join(dir, "nets", "main") {
		t.Errorf("kept %v, %v; summary names %s", nets, err, s.Net)
	}
	id := netID(t, s.Net)
	if err := os.Remove(s.Net); err != nil { // as if killed between checkpoint and export
		t.Fatal(err)
	}
	s, _ = train(t, dir, more)
	if netID(t, s.Net) != id {
		t.Error("the net that was missing is another one")
	}
}

// publishedEvents trains and returns the files that it published.
func publishedEvents(t *testing.T, dir, more string) (s *Summary, paths []string) {
	t.Helper()
	s, log, err := tryTrain(t, t.Context(), dir, more, monitor.SinkFunc(func(e monitor.Event) error {
		if n, ok := e.(*monitor.Net); ok && n.Action == monitor.NetPublished {
			paths = append(paths, n.Path)
		}
		return nil
	}))
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	return s, paths
}

// TestExportOnce: whatever the exporter, a run that is done exports nothing at
// its next start, unless a file is gone, the exporter is another one, or the list is damaged.
func TestExportOnce(t *testing.T) {
	dir := t.TempDir() + "/run"
	const more = `export { exporter: "lc0" }`
	s, first := publishedEvents(t, dir, more)
	if len(first) != 2 || first[1] != s.Net || !strings.HasSuffix(s.Net, ".pb.gz") { // the untrained net and the last
		t.Fatalf("published %v, summary names %s", first, s.Net)
	}
	again, paths := publishedEvents(t, dir, more)
	if paths != nil || again.Net != s.Net {
		t.Errorf("a finished run published %v, summary names %s", paths, again.Net)
	}
	if err := os.Truncate(s.Net, 100); err != nil {
		t.Fatal(err)
	}
	if _, paths = publishedEvents(t, dir, more); !slices.Equal(paths, []string{s.Net}) {
		t.Errorf("a damaged file: published %v", paths)
	}
	const other = `export { exporter: "lc0" settings { key: "encoding" value: "float16" } }`
	if _, paths = publishedEvents(t, dir, other); !slices.Equal(paths, []string{s.Net}) {
		t.Errorf("other settings: published %v", paths)
	}
	if s, paths = publishedEvents(t, dir, ""); len(paths) != 1 || s.Net != paths[0] || !strings.HasSuffix(s.Net, run.NetSuffix) {
		t.Errorf("another exporter: published %v, summary names %s", paths, s.Net)
	}
	d, _ := jobOf(t, dir)
	aside := d.PublishedFile() + run.DamagedSuffix
	for _, text := range []string{"[", "{", `{"version":7}`} {
		filetest.Write(t, d.PublishedFile(), text)
		again, log := train(t, dir, "")
		list, there, err := run.ReadPublished(d)
		if again.Net != s.Net || !strings.Contains(log, aside) || !there || err != nil || len(list) != 1 || list[0].Main(d) != s.Net {
			t.Errorf("a damaged list %s: published %s, the list is %v %v\n%s", text, again.Net, list, err, log)
		}
		if kept, err := os.ReadFile(aside); err != nil || string(kept) != text {
			t.Errorf("aside lies %q, %v", kept, err)
		}
	}
}

// several writes so many files of a net.
type several struct{ files int }

func (several) Name() string { return "several" }

func (e several) Export(_ context.Context, c *stage.Checkpoint, dst string) (files []string, err error) {
	for i := range e.files {
		files = append(files, filepath.Join(dst, fmt.Sprintf("part%d", i)))
		err = errors.Join(err, fsx.MkdirAll(fsx.OS, dst), fsx.WriteFile(fsx.OS, files[i], []byte(c.Net.ID)))
	}
	return files, err
}

// TestExportSets: several files are published, kept and removed together.
func TestExportSets(t *testing.T) {
	dir := t.TempDir() + "/run"
	const more = `export { every_checkpoints: 1 keep: 2 }`
	run := func(e stage.Exporter, more string) (*Summary, error) {
		t.Helper()
		var log strings.Builder
		r := newTraining(Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more)), Command: "test", Version: "test", Log: runtest.LogTo(&log)})
		if err := r.open(t.Context()); err != nil {
			t.Fatal(r.close(err))
		}
		r.stages.Exporter = e
		s, err := r.train(t.Context())
		return s, r.close(err)
	}
	s, err := run(several{2}, more)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := filepath.Glob(filepath.Join(dir, "models", "*"))
	if err != nil || len(sets) != 2 || !slices.Contains(sets, s.Net) {
		t.Fatalf("kept %v, %v; summary names %s", sets, err, s.Net)
	}
	for _, set := range sets {
		if files, err := filepath.Glob(filepath.Join(set, "*")); err != nil || len(files) != 2 {
			t.Errorf("%s holds %v, %v", set, files, err)
		}
	}
	if left := runtest.Temps(t, dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if err := os.Remove(filepath.Join(s.Net, "part1")); err != nil { // half a set is none
		t.Fatal(err)
	}
	if _, err = run(several{2}, more); err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(s.Net, "*")); err != nil || len(files) != 2 {
		t.Errorf("a set that was damaged holds %v, %v", files, err)
	}
	if _, err = run(several{0}, "--episodes=9"); err == nil {
		t.Error("an exporter without files was accepted")
	}
}

// TestMetricsEvery writes only every so many-th step event.
func TestMetricsEvery(t *testing.T) {
	dir := t.TempDir() + "/run"
	s, _ := train(t, dir, "metrics { every: 4 }")
	d, _ := jobOf(t, dir)
	f, err := os.Open(filepath.Join(d.Metrics, monitor.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	steps := int64(0)
	_, err = monitor.Replay(f, func(e monitor.Event) error {
		if e, ok := e.(*monitor.Step); ok {
			if steps += 4; e.Step != steps {
				t.Errorf("step %d stands where %d should", e.Step, steps)
			}
		}
		return nil
	})
	if err != nil || steps != s.Steps/4*4 {
		t.Errorf("steps up to %d of %d, %v", steps, s.Steps, err)
	}
}

// TestGradientHalt ends a run whose gradients are above the bound.
func TestGradientHalt(t *testing.T) {
	dir := t.TempDir() + "/run"
	e := runtest.Resolve(t, dir, "--clip-norm=0.0001")
	halt := true
	e.Config.Training.HaltOnGradientNorm = &halt
	_, err := Train(t.Context(), Options{Training: setup.TrainingOf(e), Log: runtest.LogTo(io.Discard)})
	if !errors.Is(err, ErrGradients) {
		t.Errorf("a tiny bound: %v", err)
	}
	var w GradientWatch
	for i := range 7 {
		if err := w.Observe(2, 1); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if err := w.Observe(2, 1); !errors.Is(err, ErrGradients) {
		t.Errorf("8 in a row: %v", err)
	}
	w = GradientWatch{}
	halted := 0
	for i := range 200 {
		if w.Observe(float64(2-2*min(i%4, 1)), 1) != nil {
			halted = i + 1
			break
		}
	}
	if halted != gradientMemory {
		t.Errorf("a quarter of the steps: halted after %d", halted)
	}
	w = GradientWatch{}
	if err := w.Observe(50, 1); err != nil {
		t.Error(err)
	}
	if err := w.Observe(50.1, 1); !errors.Is(err, ErrGradients) {
		t.Errorf("50 times the bound: %v", err)
	}
}

// fullDisk is the real file system until its room is looked at too often.
type fullDisk struct {
	fsx.FS
	left atomic.Int32
}

func (f *fullDisk) Space(name string) (fsx.Space, error) {
	if f.left.Add(-1) < 0 {
		return fsx.Space{Free: 1 << 20, Total: 1 << 40}, nil
	}
	return f.FS.Space(name)
}

// TestFullDisk: where games find no room the state is saved, and the run goes on
// when there is room.
func TestFullDisk(t *testing.T) {
	for workers, looks := range map[string]int32{"0": 4, "2": 0} {
		dir := t.TempDir() + "/run"
		// A cohort of one game is stored by itself, so without producers the fifth of
		// the eight games finds the disk full. Producers' games may all share a chunk,
		// so with them the first one does.
		more := "--checkpoint-interval=100 --cohort-size=1 --producer-workers=" + workers
		disk := &fullDisk{FS: fsx.OS}
		disk.left.Store(looks)
		var log strings.Builder
		_, err := Train(t.Context(), Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more)), Log: runtest.LogTo(&log), storeFS: disk, chunkBytes: 1})
		if _, ok := errors.AsType[*fsx.SpaceError](err); !ok {
			t.Fatalf("workers %s: %v", workers, err)
		}
		d, _ := jobOf(t, dir)
		counted := journalIDs(t, d)
		saved := checkpointOf(t, d)
		if workers == "0" && (len(counted) == 0 || saved.Manifest.Step == 0 || !strings.Contains(err.Error(), "the state is saved")) {
			t.Errorf("%d games counted, checkpoint %s: %v", len(counted), saved.Manifest.Name, err)
		}
		s, _ := train(t, dir, more)
		checkRun(t, dir, 8, s.Steps)
		for i, id := range journalIDs(t, d)[:len(counted)] {
			if id != counted[i] {
				t.Errorf("episode %d was %s and is %s", i+1, counted[i], id)
			}
		}
	}
}

// TestKilledExport: what a training left half written when it was killed at an export is
// gone after its next start, also where it publishes outside the run.
func TestKilledExport(t *testing.T) {
	dir, out := t.TempDir()+"/run", t.TempDir()
	more := fmt.Sprintf("--checkpoint-interval=1 export { every_checkpoints: 1 path: %q }", out+"/{job}-{samples}")
	c := startChild(t, dir, more)
	for e, ok := c.next(t); ok && e.Type != "step"; e, ok = c.next(t) {
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(t, nil); code != -1 {
		t.Fatalf("it ended with %d:\n%s", code, c.stderr.String())
	}
	d, _ := jobOf(t, dir)
	name := tempOf(t, "net", c.cmd.Process.Pid)
	for _, in := range []string{out, d.ToExport(), d.Models(), d.Candidates(), d.Root} {
		if err := errors.Join(fsx.MkdirAll(fsx.OS, in), os.WriteFile(filepath.Join(in, name), nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	train(t, dir, more)
	if left := append(runtest.Temps(t, dir), runtest.Temps(t, out)...); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPublishedOfOldCheckpoint: a run without a list takes what its checkpoint names.
func TestPublishedOfOldCheckpoint(t *testing.T) {
	d := run.Dir{Root: t.TempDir(), Training: "main"}
	if err := os.MkdirAll(filepath.Dir(d.PublishedFile()), 0o777); err != nil {
		t.Fatal(err)
	}
	old := &publisher{core: &core{dir: d, state: State{Exported: []string{filepath.Join(d.Root, "models", "1.a")}}}}
	list, err := old.readPublished()
	if err != nil || len(list) != 1 || len(list[0].Files) != 1 || list[0].Files[0].Path != "models/1.a" {
		t.Fatalf("%+v, %v", list, err)
	}
}
