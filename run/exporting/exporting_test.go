package exporting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// testNet returns a very small net.
func testNet(seed uint64) *nn.Net {
	return nn.Init(nntest.Resized(nn.Tower(8, 1), 4, 8, 2, 8), seed)
}

// handOver puts a net into a directory of a run as a trainer does, written at a
// time in seconds.
func handOver(t testing.TB, root, in, name string, seed uint64, at int64, files ...string) {
	t.Helper()
	dir := filepath.Join(root, in, name)
	if len(files) == 0 {
		files = []string{setup.NetFile}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		path := filepath.Join(dir, file)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		meta := map[string]string{"net": name, "step": "7", "samples": "28", "rows": "900"}
		err = errors.Join(nn.WriteSafetensors(f, testNet(seed+uint64(i)), meta), f.Close(), os.Chtimes(path, time.Unix(at, 0), time.Unix(at, 0)))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// exportOnce runs an exporter over a run until nothing is left.
func exportOnce(t testing.TB, root string, overrides string, change func(*Options)) (*Summary, string, error) {
	t.Helper()
	var log strings.Builder
	opt := options(t, root, overrides)
	opt.Once, opt.Log = true, slog.New(slog.NewTextHandler(&log, nil))
	if change != nil {
		change(&opt)
	}
	s, err := Run(t.Context(), opt)
	return s, log.String(), err
}

func options(t testing.TB, root, overrides string) Options {
	t.Helper()
	file, err := config.Parse("test.textproto", []byte(fmt.Sprintf("run_dir: %q", root)))
	if err != nil {
		t.Fatal(err)
	}
	in := config.Input{File: file}
	if overrides != "" {
		in.Overrides = []string{overrides}
	}
	e, err := config.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Effective: e, Gating: true, Command: "test", Log: slog.New(slog.DiscardHandler)}
}

// list returns the names in a directory of a run, hidden ones too; none where it is
// not there.
func list(t testing.TB, root, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestExport: nets go out oldest first, whatever their files say, as candidates or at once, extra ones
// elsewhere, with their id and what is known about them; nothing stays behind.
func TestExport(t *testing.T) {
	root := t.TempDir()
	handOver(t, root, "toexport", "a-main-s9-d1", 1, 2000)
	handOver(t, root, "toexport", "a-main-s28-d1", 2, 1000)
	handOver(t, root, "toexport_extra", "a-side-s5-d1", 3, 3000)
	other := filepath.Join(root, "toexport", "notes")
	if err := errors.Join(os.Mkdir(other, 0o777), os.WriteFile(filepath.Join(other, "x"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	s, log, err := exportOnce(t, root, "", nil)
	if err != nil || len(s.Nets) != 3 || s.Nets[0].Name != "a-main-s9-d1" || s.Nets[1].Name != "a-main-s28-d1" || s.Nets[2].Name != "a-side-s5-d1" {
		t.Fatalf("%v, %+v\n%s", err, s, log)
	}
	if got := list(t, root, "modelstobetested"); !slices.Equal(got, []string{"a-main-s28-d1.safetensors", "a-main-s9-d1.safetensors"}) {
		t.Errorf("candidates %v", got)
	}
	if got := list(t, root, "models_extra"); !slices.Equal(got, []string{"a-side-s5-d1.safetensors"}) {
		t.Errorf("extra nets %v", got)
	}
	if got := slices.Concat(list(t, root, "toexport"), list(t, root, "toexport_extra")); !slices.Equal(got, []string{"notes"}) {
		t.Errorf("left behind: %v", got)
	}
	net, meta, err := setup.ReadNetFile(s.Nets[1].Files[0])
	if err != nil || net.ID() != testNet(2).ID() || s.Nets[1].NetID != net.ID() || meta["samples"] != "28" || meta["rows"] != "900" || meta["step"] != "7" {
		t.Errorf("%v, %v", meta, err)
	}

	handOver(t, root, "toexport", "a-main-s40-d1", 4, 4000)
	if s, _, err = exportOnce(t, root, "", func(o *Options) { o.Gating = false }); err != nil || len(s.Nets) != 1 {
		t.Fatalf("%v, %+v", err, s)
	}
	if got := list(t, root, "models"); !slices.Equal(got, []string{"a-main-s40-d1.safetensors"}) {
		t.Errorf("without a gatekeeper: %v", got)
	}

	handOver(t, root, "in", "b", 5, 1)
	out := filepath.Join(root, "out")
	if _, _, err = exportOnce(t, root, "", func(o *Options) { o.From, o.To = filepath.Join(root, "in"), out }); err != nil || len(list(t, root, "out")) != 1 {
		t.Errorf("directories of one's own: %v, %v", err, list(t, root, "out"))
	}
}

// TestAfterKill: whatever a kill left, the next start comes to one file for each
// net.
func TestAfterKill(t *testing.T) {
	const net = "a-main-s28-d1"
	for name, kill := range map[string]func(root string) error{
		"a net half made": func(root string) error {
			dir := fsx.MarkedTemp(filepath.Join(root, "modelstobetested", net), stagingMark)
			return errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, net+".safetensors"), []byte("x"), 0o666))
		},
		"made, not taken away": func(root string) error {
			return moveNet(root, "modelstobetested")
		},
		"made, accepted since": func(root string) error { return moveNet(root, "models") },
		"made, rejected since": func(root string) error { return moveNet(root, "rejectedmodels") },
		"taken away, not removed": func(root string) error {
			path := filepath.Join(root, "toexport", net)
			return errors.Join(moveNet(root, "modelstobetested"), os.Rename(path, fsx.MarkedTemp(path, fsx.RemovedMark)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			handOver(t, root, "toexport", net, 1, 1000)
			if err := kill(root); err != nil {
				t.Fatal(err)
			}
			if _, log, err := exportOnce(t, root, "", nil); err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			made := slices.Concat(list(t, root, "modelstobetested"), list(t, root, "models"), list(t, root, "rejectedmodels"))
			if !slices.Equal(made, []string{net + ".safetensors"}) || len(list(t, root, "toexport")) != 0 {
				t.Errorf("made %v, left %v", made, list(t, root, "toexport"))
			}
		})
	}
}

// moveNet puts a file of the test's net into a directory of the run.
func moveNet(root, dir string) error {
	data, err := os.ReadFile(filepath.Join(root, "toexport", "a-main-s28-d1", setup.NetFile))
	return errors.Join(err, os.MkdirAll(filepath.Join(root, dir), 0o777), os.WriteFile(filepath.Join(root, dir, "a-main-s28-d1.safetensors"), data, 0o666))
}

// TestOtherExporters: what another exporter writes stands beside the file that
// self-play reads, which comes last.
func TestOtherExporters(t *testing.T) {
	root := t.TempDir()
	handOver(t, root, "toexport", "n", 1, 1000)
	s, log, err := exportOnce(t, root, "export.exporter=onnx", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if got := list(t, root, "modelstobetested"); !slices.Equal(got, []string{"n.onnx", "n.safetensors"}) || filepath.Base(s.Nets[0].Files[1]) != "n.safetensors" {
		t.Errorf("%v, %+v", got, s)
	}
	handOver(t, root, "toexport", "m", 1, 1000)
	if _, log, err = exportOnce(t, root, "export.exporter=npz", nil); err != nil || !strings.Contains(log, "there are no games yet") {
		t.Errorf("an exporter of games without games: %v\n%s", err, log)
	}
	if got := list(t, root, "modelstobetested"); !slices.Equal(got, []string{"m.safetensors", "n.onnx", "n.safetensors"}) {
		t.Errorf("%v", got)
	}
	_, _, err = exportOnce(t, root, "export.exporter=none-such", nil)
	if bad, ok := errors.AsType[*config.Error](err); !ok || bad.Field != "export.exporter" {
		t.Errorf("an unknown exporter: %v", err)
	}
}

// TestWeights: the averaged weights where there are any.
func TestWeights(t *testing.T) {
	root := t.TempDir()
	handOver(t, root, "toexport", "both", 10, 1000, setup.NetFile, setup.AverageFile)
	handOver(t, root, "toexport", "raw", 20, 2000)
	s, log, err := exportOnce(t, root, "training.swa.period=5,export.weights=SWA", nil)
	if err != nil || len(s.Nets) != 2 {
		t.Fatalf("%v\n%s", err, log)
	}
	if n := s.Nets[0]; n.Weights != "swa" || n.NetID != testNet(11).ID() {
		t.Errorf("%+v", n)
	}
	if n := s.Nets[1]; n.Weights != "raw" || n.NetID != testNet(20).ID() || !strings.Contains(log, "there are no averaged weights") {
		t.Errorf("%+v\n%s", n, log)
	}
}

// TestDamagedNet: a net that cannot be read stays, is named, and does not hold up
// the others.
func TestDamagedNet(t *testing.T) {
	root := t.TempDir()
	handOver(t, root, "toexport", "bad", 1, 1000)
	handOver(t, root, "toexport", "good", 2, 2000)
	path := filepath.Join(root, "toexport", "bad", setup.NetFile)
	data := filetest.Read(t, path)
	filetest.Write(t, path, data[:len(data)/2])
	s, log, err := exportOnce(t, root, "", nil)
	if err == nil || !strings.Contains(err.Error(), path) || len(s.Nets) != 1 || s.Nets[0].Name != "good" || !strings.Contains(log, "stays where it is") {
		t.Fatalf("%v, %+v\n%s", err, s, log)
	}
	if _, ok := errors.AsType[*nn.FormatError](err); !ok {
		t.Errorf("%v has not the type of damaged data", err)
	}
	if got := list(t, root, "toexport"); !slices.Equal(got, []string{"bad"}) {
		t.Errorf("left %v", got)
	}
	if got := list(t, root, "modelstobetested"); !slices.Equal(got, []string{"good.safetensors"}) {
		t.Errorf("made %v", got)
	}
}

// TestGoesOn: without Once it exports what comes later, until it is stopped; a
// second exporter is refused meanwhile, or waits as long as it is told.
func TestGoesOn(t *testing.T) {
	root := t.TempDir()
	handOver(t, root, "toexport", "first", 1, 1000)
	ctx, stop := context.WithCancel(t.Context())
	published := make(chan string, 8)
	opt := options(t, root, "")
	opt.Poll = time.Millisecond
	opt.Readers = []monitor.Sink{monitor.SinkFunc(func(e monitor.Event) error {
		if n, ok := e.(*monitor.Net); ok && n.Action == monitor.NetPublished {
			published <- n.NetID
		}
		return nil
	})}
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, opt)
		ended <- err
	}()
	if got := <-published; got != "first" {
		t.Errorf("exported %s", got)
	}
	// As a trainer does, whole.
	handOver(t, root, "elsewhere", "second", 2, 2000)
	if err := os.Rename(filepath.Join(root, "elsewhere", "second"), filepath.Join(root, "toexport", "second")); err != nil {
		t.Fatal(err)
	}
	if got := <-published; got != "second" {
		t.Errorf("exported %s", got)
	}
	var locked *fsx.LockedError
	if _, _, err := exportOnce(t, root, "", nil); !errors.As(err, &locked) {
		t.Errorf("a second exporter: %v", err)
	}
	waited := make(chan error, 1)
	patient := options(t, root, "")
	patient.Once, patient.LockWait = true, time.Hour
	go func() {
		_, err := Run(t.Context(), patient)
		waited <- err
	}()
	stop()
	if err := <-ended; !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("stopped: %v", err)
	}
	if err := <-waited; err != nil {
		t.Errorf("who waited for the lock: %v", err)
	}
	if got := list(t, root, "modelstobetested"); !slices.Equal(got, []string{"first.safetensors", "second.safetensors"}) {
		t.Errorf("made %v", got)
	}
}

// TestDryRun names what would be done and creates nothing.
func TestDryRun(t *testing.T) {
	root := t.TempDir()
	handOver(t, root, "toexport", "n", 1, 1000)
	before := list(t, root, ".")
	var out strings.Builder
	if err := DryRun(options(t, root, ""), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"exporter safetensors", "1 net\n  n\n", filepath.Join(root, "modelstobetested"), "MiB may be used"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if after := list(t, root, "."); !slices.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}
