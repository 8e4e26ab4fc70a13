package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// testCheckpoint returns a small net as an exporter sees it.
func testCheckpoint(t *testing.T) (*nn.Net, *stage.Checkpoint) {
	t.Helper()
	arch := nntest.Named("16x1")
	net := nn.Init(arch, 3)
	data, err := json.Marshal(net.Arch)
	if err != nil {
		t.Fatal(err)
	}
	c := &stage.Checkpoint{Arch: data, Metadata: map[string]string{"job": "job"},
		Net: stage.NetInfo{Name: "job-main-s100-d200", ID: net.ID(), Step: 10, Samples: 100, Rows: 200}}
	for _, p := range net.Params {
		c.Tensors = append(c.Tensors, stage.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	return net, c
}

func names(t *testing.T, m fsx.FS, dir string) (list []string) {
	t.Helper()
	entries, err := m.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestSafetensors(t *testing.T) {
	net, c := testCheckpoint(t)
	m := memfs.New()
	files, err := exporterOn(t, m, "safetensors").Export(context.Background(), c, "run/toexport")
	if err != nil || !slices.Equal(files, []string{filepath.Join("run/toexport", "job-main-s100-d200.safetensors")}) {
		t.Fatalf("%v, %v", files, err)
	}
	m.Restart(memfs.DropAll) // acknowledged: a power cut cannot take it
	data, err := fsx.ReadFile(m, files[0])
	if err != nil {
		t.Fatal(err)
	}
	got, meta, err := nn.ReadSafetensors(bytes.NewReader(data))
	if err != nil || got.ID() != net.ID() || !got.Arch.Equal(net.Arch) {
		t.Errorf("read back: %v", err)
	}
	for key, want := range map[string]string{"job": "job", "step": "10", "samples": "100", "rows": "200", "name": c.Net.Name} {
		if meta[key] != want {
			t.Errorf("metadata %s = %q, want %q", key, meta[key], want)
		}
	}
	if len(c.Metadata) != 1 {
		t.Error("the checkpoint's metadata was changed")
	}
}

// TestLeela: the file holds the net to half a 16-bit step, and how long it was
// trained.
func TestLeela(t *testing.T) {
	net, c := testCheckpoint(t)
	c.Metadata["license"] = "CC0"
	m := memfs.New()
	files, err := exporterOn(t, m, "lc0").Export(context.Background(), c, "run/toexport")
	if err != nil || !slices.Equal(files, []string{filepath.Join("run/toexport", "job-main-s100-d200.pb.gz")}) {
		t.Fatalf("%v, %v", files, err)
	}
	m.Restart(memfs.DropAll)
	data, err := fsx.ReadFile(m, files[0])
	if err != nil {
		t.Fatal(err)
	}
	got, info, err := lc0.ReadNet(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Arch.Equal(net.Arch) || info.TrainingSteps != 10 || info.License != "CC0" {
		t.Errorf("read back %s, %+v", got.Arch, info)
	}
	want := net.Get("tower.0.conv1.weight")
	step := float64(slices.Max(want)-slices.Min(want)) / 65535
	for i, v := range got.Get("tower.0.conv1.weight") {
		if d := math.Abs(float64(v - want[i])); d > .51*step {
			t.Fatalf("weight %d is %v, want %v", i, v, want[i])
		}
	}
}

// TestLeelaSettings: weights of float32 come back bit for bit, and a folded net
// has no batch norm left.
func TestLeelaSettings(t *testing.T) {
	net, c := testCheckpoint(t)
	m := memfs.New()
	for fold, wantFolded := range map[string]bool{"no": false, "yes": true} {
		d, err := stage.Find(definitions(m), stage.KindExporter, "lc0")
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.MakeExporter(map[string]string{"encoding": "float32", "fold": fold})
		if err != nil {
			t.Fatal(err)
		}
		files, err := e.Export(context.Background(), c, "out")
		if err != nil {
			t.Fatal(err)
		}
		data, err := fsx.ReadFile(m, files[0])
		if err != nil {
			t.Fatal(err)
		}
		got, info, err := lc0.ReadNet(bytes.NewReader(data))
		if err != nil || info.Folded != wantFolded {
			t.Fatalf("fold %s: %+v, %v", fold, info, err)
		}
		const name = "policy.conv2.weight" // without batch norm: the same in both
		if !slices.Equal(got.Get(name), net.Get(name)) {
			t.Errorf("fold %s: %s differs", fold, name)
		}
	}
	if _, err := Definition("lc0").MakeExporter(map[string]string{"encoding": "int8"}); err == nil || !strings.Contains(err.Error(), "bfloat16") {
		t.Errorf("an unknown encoding: %v", err)
	}
}

// TestONNX: the file begins as a model of IR version 8 does, and holds the net's
// id. What it computes is tested in room lc0.
func TestONNX(t *testing.T) {
	net, c := testCheckpoint(t)
	m := memfs.New()
	files, err := exporterOn(t, m, "onnx").Export(context.Background(), c, "out")
	if err != nil || !slices.Equal(files, []string{filepath.Join("out", "job-main-s100-d200.onnx")}) {
		t.Fatalf("%v, %v", files, err)
	}
	m.Restart(memfs.DropAll)
	data, err := fsx.ReadFile(m, files[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x08, 8, 0x12}) || !bytes.Contains(data, []byte(net.ID())) || !bytes.Contains(data, []byte("job-main-s100-d200")) {
		t.Errorf("the file begins with % x", data[:8])
	}
}

// TestExportersRefuse: a bad checkpoint is an error and writes nothing.
func TestExportersRefuse(t *testing.T) {
	for name, spoil := range map[string]func(*stage.Checkpoint){
		"NaN":            func(c *stage.Checkpoint) { c.Tensors[3].Data[1] = float32(math.NaN()) },
		"infinity":       func(c *stage.Checkpoint) { c.Tensors[0].Data[0] = float32(math.Inf(-1)) },
		"missing tensor": func(c *stage.Checkpoint) { c.Tensors = c.Tensors[1:] },
		"wrong name":     func(c *stage.Checkpoint) { c.Tensors[0].Name = "x" },
		"wrong shape":    func(c *stage.Checkpoint) { c.Tensors[0].Shape = []int{1} },
		"short data":     func(c *stage.Checkpoint) { c.Tensors[0].Data = c.Tensors[0].Data[1:] },
		"wrong id":       func(c *stage.Checkpoint) { c.Net.ID = "abc" },
		"no arch":        func(c *stage.Checkpoint) { c.Arch = nil },
		"path as name":   func(c *stage.Checkpoint) { c.Net.Name = "../x" },
		"empty name":     func(c *stage.Checkpoint) { c.Net.Name = "" },
	} {
		m := memfs.New()
		for _, d := range definitions(m) {
			if d.Has(stage.NeedsGames) {
				continue // they do not look at the net (TestGamesErrors)
			}
			e, err := d.MakeExporter(nil)
			if err != nil {
				t.Fatal(err)
			}
			_, c := testCheckpoint(t)
			spoil(c)
			files, err := e.Export(context.Background(), c, "out")
			if err == nil || files != nil {
				t.Errorf("%s, %s: exported", d.Name, name)
			}
			if finite := name != "NaN" && name != "infinity"; errors.Is(err, nn.ErrNotFinite) == finite {
				t.Errorf("%s, %s: %v", d.Name, name, err)
			}
			if list := names(t, m, "out"); list != nil {
				t.Errorf("%s, %s: %v was written", d.Name, name, list)
			}
		}
	}
}

func TestDirectory(t *testing.T) {
	ctx := context.Background()
	m := memfs.New()
	for name, text := range map[string]string{"src/a": "A", "src/b": "B"} {
		if err := errors.Join(fsx.MkdirAll(m, "src"), fsx.WriteFile(m, name, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	net := stage.NetInfo{Name: "net-1"}
	for range 2 { // twice is no error
		if err := Publish(ctx, m, "models", []string{"src/a"}, net); err != nil {
			t.Fatal(err)
		}
		if err := Publish(ctx, m, "models", []string{"src/a", "src/b"}, net); err != nil {
			t.Fatal(err)
		}
	}
	m.Restart(memfs.DropAll)
	if got := names(t, m, "models"); !slices.Equal(got, []string{"a", "net-1"}) {
		t.Errorf("models: %v", got)
	}
	if got := names(t, m, "models/net-1"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("models/net-1: %v", got)
	}
	if data, err := fsx.ReadFile(m, "models/net-1/b"); string(data) != "B" {
		t.Errorf("content %q, %v", data, err)
	}
	// Another net under the same name takes the place of the first, whatever it has.
	for _, text := range []string{"C", "CC"} {
		if err := errors.Join(fsx.WriteFile(m, "src/b", []byte(text)), Publish(ctx, m, "models", []string{"src/a", "src/b"}, net)); err != nil {
			t.Fatal(err)
		}
		m.Restart(memfs.DropAll)
		if data, err := fsx.ReadFile(m, "models/net-1/b"); string(data) != text {
			t.Errorf("replaced: %q, %v", data, err)
		}
	}
	if got := names(t, m, "models"); !slices.Equal(got, []string{"a", "net-1"}) {
		t.Errorf("models after replacing: %v", got)
	}
	paths, dir := Published("models", []string{"src/a", "src/b"}, net)
	if !slices.Equal(paths, []string{filepath.Join("models", "net-1", "a"), filepath.Join("models", "net-1", "b")}) || dir != filepath.Join("models", "net-1") {
		t.Errorf("published %v in %s", paths, dir)
	}
	if paths, dir := Published("models", []string{"src/a"}, net); !slices.Equal(paths, []string{filepath.Join("models", "a")}) || dir != "" {
		t.Errorf("published %v in %q", paths, dir)
	}
	if got := names(t, m, "src"); len(got) != 2 {
		t.Errorf("sources: %v", got)
	}
	for name, files := range map[string][]string{"none": nil, "missing": {"src/c"}, "one missing": {"src/a", "src/c"}} {
		if err := Publish(ctx, m, "models", files, stage.NetInfo{Name: "net-2"}); err == nil {
			t.Errorf("%s: published", name)
		}
	}
	if got := names(t, m, "models"); len(got) != 2 {
		t.Errorf("after failures: %v", got)
	}
	for range 2 { // twice is no error
		if err := fsx.RemoveDir(m, "models/net-1"); err != nil {
			t.Error(err)
		}
		if got := names(t, m, "models"); !slices.Equal(got, []string{"a"}) {
			t.Errorf("after the removal: %v", got)
		}
	}
}

// TestDirectoryFaults: whatever operation fails, no reader sees half a net, also
// where it takes the place of another one.
func TestDirectoryFaults(t *testing.T) {
	for _, replace := range []bool{false, true} {
		for k, tripped := 1, true; tripped; k++ {
			m := memfs.New()
			if err := errors.Join(fsx.WriteFile(m, "a", bytes.Repeat([]byte("a"), 5000)), fsx.WriteFile(m, "b", []byte("b"))); err != nil {
				t.Fatal(err)
			}
			publish := func(files ...string) error {
				return Publish(context.Background(), m, "models", files, stage.NetInfo{Name: "n"})
			}
			if replace {
				if err := errors.Join(fsx.MkdirAll(m, "old"), fsx.WriteFile(m, "old/a", []byte("old")), fsx.WriteFile(m, "old/b", []byte("old")), publish("old/a", "old/b")); err != nil {
					t.Fatal(err)
				}
			}
			m.FailAt(k, syscall.ENOSPC, false)
			err := publish("a", "b")
			tripped = m.Tripped()
			m.Heal()
			list := names(t, m, "models/n")
			if len(list) != 0 && len(list) != 2 || err == nil && len(list) != 2 {
				t.Errorf("operation %d: %v, %v", k, list, err)
			}
			if len(list) == 2 {
				a, errA := fsx.ReadFile(m, "models/n/a")
				b, errB := fsx.ReadFile(m, "models/n/b")
				if old := len(a) == 3; errA != nil || errB != nil || old != (len(b) == 3) || old && err == nil {
					t.Errorf("operation %d: %d and %d bytes, %v", k, len(a), len(b), err)
				}
			}
			if err := publish("a", "b"); err != nil {
				t.Errorf("operation %d: again: %v", k, err)
			}
			if list := names(t, m, "models"); !slices.Contains(list, "n") {
				t.Errorf("operation %d: %v at last", k, list)
			}
		}
	}
}

func TestDefinitions(t *testing.T) {
	for _, d := range Definitions() {
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		if e, err := d.MakeExporter(nil); err != nil || e.Name() != d.Name || Definition(d.Name).Doc != d.Doc {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	var all []string
	for _, d := range Definitions() {
		all = append(all, d.Name)
	}
	if !slices.Equal(all, []string{"lc0", "npz", "onnx", "pgn", "safetensors"}) {
		t.Errorf("there are %v", all)
	}
	if _, err := stage.Find(Definitions(), stage.KindExporter, "safetensor"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
