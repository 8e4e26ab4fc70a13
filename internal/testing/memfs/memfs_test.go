package memfs_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
)

// put writes a file and syncs what is asked for.
func put(t *testing.T, m *memfs.FS, name, text string, syncFile, syncDir bool) {
	t.Helper()
	f, err := m.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if syncFile {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if syncDir {
		if err := m.SyncDir("/"); err != nil {
			t.Fatal(err)
		}
	}
}

func read(m *memfs.FS, name string) string {
	data, err := fsx.ReadFile(m, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestPowerCut: only what was synced is sure to be there.
func TestPowerCut(t *testing.T) {
	for _, c := range []struct {
		syncFile, syncDir bool
		drop, keep        string
	}{
		{true, true, "new", "new"},
		{true, false, "-", "new"}, // no directory entry
		{false, true, "", "new"},  // an entry without content
		{false, false, "-", "new"},
	} {
		for _, keep := range []bool{false, true} {
			m := memfs.New()
			put(t, m, "f", "new", c.syncFile, c.syncDir)
			want, fate := c.drop, memfs.DropAll
			if keep {
				want, fate = c.keep, memfs.KeepAll
			}
			m.Restart(fate)
			if got := read(m, "f"); got != want {
				t.Errorf("%+v, keep %v: %q, want %q", c, keep, got, want)
			}
		}
	}
}

// TestRename: not durable before SyncDir, and never half done.
func TestRename(t *testing.T) {
	results := map[string]int{}
	for seed := range uint64(200) {
		m := memfs.New()
		put(t, m, "a", "A", true, true)
		put(t, m, "b", "B", true, true)
		if err := m.Rename("a", "b"); err != nil {
			t.Fatal(err)
		}
		m.Restart(memfs.Random(seed))
		results[read(m, "a")+read(m, "b")]++
	}
	if len(results) != 2 || results["AB"] == 0 || results["-A"] == 0 {
		t.Errorf("after renames: %v, want AB and -A", results)
	}
}

// TestTornWrites: a random cut shows lost, torn, zeroed and whole content, and
// never loses what was synced.
func TestTornWrites(t *testing.T) {
	results := map[string]int{}
	for seed := range uint64(400) {
		m := memfs.New()
		a, err := fsx.OpenAppend(m, "f")
		if err != nil {
			t.Fatal(err)
		}
		a.Write([]byte("safe"))
		if err := a.Sync(); err != nil {
			t.Fatal(err)
		}
		a.Write([]byte("xyz"))
		m.Restart(memfs.Random(seed))
		got := read(m, "f")
		if len(got) < 4 || got[:4] != "safe" {
			t.Fatalf("synced content became %q", got)
		}
		results[got]++
		if _, err := a.Write([]byte("x")); err == nil {
			t.Fatal("a file that was open before the cut can be written")
		}
	}
	for _, want := range []string{"safe", "safexyz", "safex", "safexy", "safe\x00\x00\x00", "safexy\x00"} {
		if results[want] == 0 {
			t.Errorf("%q never happened: %v", want, results)
		}
	}
}

// TestFailAt: the k-th operation fails, once or for good, and the others work.
func TestFailAt(t *testing.T) {
	m := memfs.New()
	m.FailAt(2, syscall.ENOSPC, false)
	var errs []bool
	for range 4 {
		_, err := m.Stat("/")
		errs = append(errs, errors.Is(err, syscall.ENOSPC))
	}
	if !slices.Equal(errs, []bool{false, true, false, false}) || !m.Tripped() || m.Ops() != 4 {
		t.Errorf("once: %v, tripped %v, %d operations", errs, m.Tripped(), m.Ops())
	}
	m.CutAt(2)
	errs = nil
	for range 3 {
		_, err := m.Stat("/")
		errs = append(errs, errors.Is(err, memfs.ErrPowerCut))
	}
	if !slices.Equal(errs, []bool{false, true, true}) {
		t.Errorf("power: %v", errs)
	}
	m.Restart(memfs.DropAll)
	if _, err := m.Stat("/"); err != nil {
		t.Errorf("after Restart: %v", err)
	}
}

// TestLikeOS runs the same calls on the real file system and compares what
// errors.Is says of the results.
func TestLikeOS(t *testing.T) {
	dir := t.TempDir()
	kind := func(err error) string {
		for _, k := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrClosed, syscall.ENOTDIR, syscall.EISDIR} {
			if errors.Is(err, k) {
				return k.Error()
			}
		}
		if err != nil {
			return "another error"
		}
		return "ok"
	}
	calls := func(fsys fsx.FS, root string) (got []string) {
		do := func(err error) { got = append(got, kind(err)) }
		open := func(name string, flag int) fsx.File {
			f, err := fsys.OpenFile(root+name, flag, 0o666)
			do(err)
			return f
		}
		open("/none", os.O_RDONLY)
		f := open("/f", os.O_RDWR|os.O_CREATE)
		open("/f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
		open("/f/x", os.O_RDWR|os.O_CREATE)
		do(fsys.Mkdir(root+"/d", 0o777))
		do(fsys.Mkdir(root+"/d", 0o777))
		do(fsys.Mkdir(root+"/d/e/g", 0o777))
		do(fsys.Mkdir(root+"/d/e", 0o777))
		open("/d", os.O_RDWR)
		do(fsys.Remove(root + "/none"))
		do(fsys.Rename(root+"/none", root+"/f"))
		do(fsys.Rename(root+"/f", root+"/d/f"))
		do(fsys.SyncDir(root + "/d"))
		do(fsys.SyncDir(root + "/none"))
		f.Write([]byte("0123456789"))
		do(f.Truncate(6))
		do(errors.Join(f.Sync(), f.SyncData(), f.Close()))
		do(f.Close())
		_, err := f.Write([]byte("x"))
		do(err)
		info, err := fsys.Stat(root + "/d/f")
		do(err)
		data, err := fsx.ReadFile(fsys, root+"/d/f")
		do(err)
		got = append(got, string(data), info.Name())
		entries, err := fsys.ReadDir(root + "/d")
		do(err)
		for _, e := range entries {
			got = append(got, e.Name())
		}
		do(fsx.RemoveAll(fsys, root+"/d"))
		do(fsx.RemoveAll(fsys, root+"/d"))
		_, err = fsys.Stat(root + "/d")
		do(err)
		return got
	}
	want, got := calls(fsx.OS, dir), calls(memfs.New(), "")
	if !slices.Equal(got, want) {
		t.Errorf("memory: %q\n    os: %q", got, want)
	}
}

// TestRecorder: what is recorded on the real disk is there after a replay, and after a power
// cut what was synced; a fault hits one operation.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, dir+"/before", "b")
	r, err := memfs.Record(dir)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(fsx.MkdirAll(r, dir+"/a"))
	must(fsx.WriteFile(r, dir+"/a/whole", []byte("12")))
	f, err := fsx.OpenAppend(r, dir+"/a/grows")
	must(err)
	_, err = f.Write([]byte("3456"))
	must(err)
	r.FailAt(1, syscall.EIO, false)
	if n, err := f.Write([]byte("7890")); n != 0 || !errors.Is(err, syscall.EIO) || len(r.Failures()) != 1 {
		t.Errorf("%d bytes, %v, failed %v", n, err, r.Failures())
	}
	must(f.Close())
	must(r.Remove(dir + "/before"))
	for _, c := range []struct {
		fate                 memfs.Fate
		before, whole, grows string
	}{{memfs.KeepAll, "-", "12", "3456"}, {memfs.DropAll, "b", "12", ""}} {
		m, err := r.Replay(len(r.Ops()))
		must(err)
		m.Restart(c.fate)
		out := t.TempDir() + "/out"
		must(m.Export("/", out))
		for name, want := range map[string]string{"before": c.before, "a/whole": c.whole, "a/grows": c.grows} {
			data, err := os.ReadFile(out + "/" + name)
			if got := string(data); errors.Is(err, fs.ErrNotExist) != (want == "-") || err == nil && got != want || read(m, "/"+name) != want {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	}
}
