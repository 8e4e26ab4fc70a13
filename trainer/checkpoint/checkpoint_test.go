package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// textSection is a section whose state is a string.
func textSection(name string, state *string) stage.Section {
	return stage.Section{
		Name: name, Version: 3,
		Save: func(w io.Writer) error { _, err := io.WriteString(w, *state); return err },
		Load: func(r io.Reader, version int) error {
			if version != 3 {
				return fmt.Errorf("version %d", version)
			}
			data, err := io.ReadAll(r)
			*state = string(data)
			return err
		},
	}
}

// saveText writes a checkpoint of step whose section "s" and file net hold its
// number.
func saveText(fsys fsx.FS, dir string, step int64) error {
	state := fmt.Sprintf("state at step %d", step)
	return Save(fsys, dir, Name("job", step), Manifest{Job: "job", Step: step, Samples: 16 * step},
		[]stage.Section{textSection("s", &state)},
		File{Name: "net.safetensors", Write: func(w io.Writer) error { _, err := fmt.Fprintf(w, "net %d", step); return err }})
}

// loadText returns the state of the checkpoint that the loader chooses.
func loadText(t *testing.T, fsys fsx.FS, dir string) (string, *Checkpoint) {
	t.Helper()
	c, err := Load(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	var state string
	if _, err := c.Restore([]stage.Section{textSection("s", &state)}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("state at step %d", c.Manifest.Step); state != want {
		t.Fatalf("the checkpoint of step %d holds %q", c.Manifest.Step, state)
	}
	return state, c
}

func TestCheckpointRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space", "checkpoints")
	if _, err := Load(fsx.OS, dir); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatalf("empty directory: %v", err)
	}
	for _, step := range []int64{9, 10, 100_000_000} {
		if err := saveText(fsx.OS, dir, step); err != nil {
			t.Fatal(err)
		}
	}
	_, c := loadText(t, fsx.OS, dir)
	if c.Manifest.Step != 100_000_000 || c.Manifest.Ordinal != 3 || c.Manifest.Samples != 1_600_000_000 || len(c.Warnings) > 0 {
		t.Errorf("manifest %+v, warnings %v", c.Manifest, c.Warnings)
	}
	r, err := c.Open("net.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, _ := io.ReadAll(r); string(data) != "net 100000000" {
		t.Errorf("net file holds %q", data)
	}
	if _, err := c.Open("../current"); err == nil {
		t.Error("a path outside the checkpoint was opened")
	}
	var other string
	if _, err := c.Restore([]stage.Section{textSection("other", &other)}); !errors.Is(err, ErrStateMismatch) {
		t.Errorf("missing section: %v", err)
	}
	if unclaimed, err := c.Restore(nil); err != nil || !slices.Equal(unclaimed, []string{"s"}) {
		t.Errorf("unclaimed = %v, %v", unclaimed, err)
	}
	// The same step again replaces the checkpoint and keeps its ordinal.
	if err := saveText(fsx.OS, dir, 10); err != nil {
		t.Fatal(err)
	}
	if _, c := loadText(t, fsx.OS, dir); c.Manifest.Step != 10 || c.Manifest.Ordinal != 2 {
		t.Errorf("after writing step 10 again: %+v", c.Manifest)
	}
}

func TestCheckpointNames(t *testing.T) {
	for _, c := range []struct {
		name string
		step int64
		ok   bool
	}{
		{"job_step00000007", 7, true}, {"a_step_step00000010", 10, true}, {"job_step123456789", 123456789, true},
		{"job_step7", 0, false}, {"job_step000000007", 0, false}, {"_step00000001", 0, false},
		{"job_step-0000001", 0, false}, {"job_step00000007.new", 0, false}, {"a/b_step00000001", 0, false}, {"current", 0, false},
	} {
		if _, step, ok := ParseName(c.name); ok != c.ok || step != c.step {
			t.Errorf("ParseName(%q) = %d, %v", c.name, step, ok)
		}
	}
	dir := t.TempDir()
	want := []string{"z_step00000009", "a_step00000010", "a_step99999999", "a_step100000000"}
	for _, n := range append([]string{"a_step5", "junk"}, want...) {
		if err := os.Mkdir(filepath.Join(dir, n), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := List(fsx.OS, dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("List = %v, %v, want %v", got, err, want)
	}
}

// TestCheckpointFallsBack: whatever is done to one file of the newest
// checkpoint, the loader takes the one before it and says so.
func TestCheckpointFallsBack(t *testing.T) {
	for _, file := range []string{"s.section", "net.safetensors", manifestFile} {
		for how, damage := range map[string]func(path string) error{
			"missing": os.Remove,
			"empty":   func(p string) error { return os.Truncate(p, 0) },
			"cut":     func(p string) error { return editFile(p, func(b []byte) []byte { return b[:len(b)-2] }) },
			"longer":  func(p string) error { return editFile(p, func(b []byte) []byte { return append(b, 'x') }) },
			"bit flipped": func(p string) error {
				return editFile(p, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
			},
		} {
			dir := t.TempDir()
			for _, step := range []int64{9, 10} {
				if err := saveText(fsx.OS, dir, step); err != nil {
					t.Fatal(err)
				}
			}
			if err := damage(filepath.Join(dir, Name("job", 10), file)); err != nil {
				t.Fatal(err)
			}
			_, c := loadText(t, fsx.OS, dir)
			warned := strings.Join(c.Warnings, "\n")
			if c.Manifest.Step != 9 || !strings.Contains(warned, "job_step00000010") || !strings.Contains(warned, "job_step00000009") {
				t.Errorf("%s %s: step %d, warnings %q", file, how, c.Manifest.Step, warned)
			}
			if err := os.RemoveAll(filepath.Join(dir, Name("job", 9))); err != nil {
				t.Fatal(err)
			}
			var corrupt *CorruptError
			if _, err := Load(fsx.OS, dir); !errors.As(err, &corrupt) {
				t.Errorf("%s %s, nothing else: %v, want *CorruptError", file, how, err)
			}
		}
	}
}

func editFile(path string, edit func([]byte) []byte) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, edit(data), 0o666)
}

// TestCheckpointMarker: without the marker, or with a bad one, the newest is
// taken; a missing current checkpoint falls back to the one before it.
func TestCheckpointMarker(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []int64{8, 9, 10} {
		if err := saveText(fsx.OS, dir, step); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(s string) {
		if err := os.WriteFile(filepath.Join(dir, currentFile), []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for marker, want := range map[string]int64{"job_step00000009\n": 9, "../evil": 10, "": 10, "job_step00000011\n": 10} {
		mark(marker)
		if _, c := loadText(t, fsx.OS, dir); c.Manifest.Step != want {
			t.Errorf("marker %q: step %d, want %d", marker, c.Manifest.Step, want)
		}
	}
	mark("job_step00000009\n")
	if err := os.RemoveAll(filepath.Join(dir, Name("job", 9))); err != nil {
		t.Fatal(err)
	}
	if _, c := loadText(t, fsx.OS, dir); c.Manifest.Step != 8 || len(c.Warnings) == 0 {
		t.Errorf("missing current: step %d, warnings %v", c.Manifest.Step, c.Warnings)
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for step := int64(1); step <= 10; step++ {
		if err := saveText(fsx.OS, dir, 10*step); err != nil {
			t.Fatal(err)
		}
		if _, err := Prune(fsx.OS, dir, Retention{Last: 2, Every: 4}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List(fsx.OS, dir)
	want := []string{Name("job", 40), Name("job", 80), Name("job", 90), Name("job", 100)}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("kept %v, %v, want %v", got, err, want)
	}
	// The current one stays even where it is old.
	if err := os.WriteFile(filepath.Join(dir, currentFile), []byte(want[0]+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Prune(fsx.OS, dir, Retention{Last: 1}); err != nil {
		t.Fatal(err)
	}
	if got, _ := List(fsx.OS, dir); !slices.Equal(got, []string{want[0], want[3]}) {
		t.Errorf("kept %v", got)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestCheckpointPowerCut cuts the power at every operation of a save: the
// loader then finds the old checkpoint, or the new one whole; an acknowledged
// one is never lost.
func TestCheckpointPowerCut(t *testing.T) {
	const dir = "checkpoints"
	for _, again := range []int64{10, 20} { // a new name, and the same name again
		for k := 1; ; k++ {
			m := memfs.New()
			for _, step := range []int64{5, 10} {
				if err := saveText(m, dir, step); err != nil {
					t.Fatal(err)
				}
			}
			m.CutAt(k)
			err := saveText(m, dir, again)
			if !m.Tripped() {
				break
			}
			m.Restart(memfs.Random(uint64(k)))
			_, c := loadText(t, m, dir)
			if err == nil && c.Manifest.Step != again {
				t.Fatalf("cut at %d: step %d was acknowledged, %d was found", k, again, c.Manifest.Step)
			}
			if again == 20 && c.Manifest.Step < 10 {
				t.Fatalf("cut at %d: an acknowledged checkpoint is gone, step %d was found", k, c.Manifest.Step)
			}
			if k > 500 {
				t.Fatal("the save never ends")
			}
		}
	}
}

// TestCheckpointWriteErrors: an error at any operation of a save is reported,
// and the checkpoint before it is still there.
func TestCheckpointWriteErrors(t *testing.T) {
	broken := errors.New("no space left")
	for k := 1; ; k++ {
		m := memfs.New()
		if err := saveText(m, "c", 5); err != nil {
			t.Fatal(err)
		}
		m.FailAt(k, broken, false)
		err := saveText(m, "c", 6)
		if !m.Tripped() {
			break
		}
		m.Heal()
		_, c := loadText(t, m, "c")
		if err == nil && c.Manifest.Step != 6 {
			t.Fatalf("operation %d failed in silence", k)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	good, err := Manifest{Name: "j_step00000001", Step: 1, Files: []ManifestFile{{Name: "a", SHA256: strings.Repeat("0", 64)}}}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":"chessbrain-checkpoint","version":1}`))
	f.Add(bytes.Replace(good, []byte(`"a"`), []byte(`"../a"`), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest(data)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if filepath.Base(file.Name) != file.Name {
				t.Errorf("file name %q was accepted", file.Name)
			}
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeManifest(again); err != nil {
			t.Errorf("what was decoded cannot be encoded: %v", err)
		}
	})
}
