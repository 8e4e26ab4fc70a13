package fsx_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
)

// saver replaces the file d/f by data and acknowledges with nil.
type saver func(m fsx.FS, data []byte) error

func goodSave(m fsx.FS, data []byte) error { return fsx.WriteFile(m, "d/f", data) }

// brokenSave is WriteFile with some of its steps left out.
func brokenSave(fileSync, dirSync, rename bool) saver {
	return func(m fsx.FS, data []byte) error {
		name := "d/f"
		if rename {
			name = "d/t"
		}
		f, err := m.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		if err == nil && fileSync {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err == nil && rename {
			err = m.Rename("d/t", "d/f")
		}
		if err == nil && dirSync {
			err = m.SyncDir("d")
		}
		return err
	}
}

// violations cuts the power at every operation of three saves in turn and
// counts the crashes after which the file is neither the last acknowledged
// content nor the one being written.
func violations(t *testing.T, save saver) (crashes, bad int) {
	t.Helper()
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 3000*i) }
	for k := 1; ; k++ {
		tripped := false
		for seed := uint64(0); seed < 12; seed++ {
			m := memfs.New()
			if err := fsx.MkdirAll(m, "d"); err != nil {
				t.Fatal(err)
			}
			m.CutAt(k)
			acked, tried := 0, 0
			for tried < 3 {
				tried++
				if save(m, content(tried)) != nil {
					break
				}
				acked = tried
			}
			tripped = m.Tripped()
			fate := memfs.Random(seed)
			if seed == 0 {
				fate = memfs.DropAll
			}
			m.Restart(fate)
			crashes++
			got, err := fsx.ReadFile(m, "d/f")
			ok := acked == 0 && errors.Is(err, fs.ErrNotExist)
			for i := max(1, acked); i <= tried; i++ {
				ok = ok || err == nil && bytes.Equal(got, content(i))
			}
			if !ok {
				bad++
			}
		}
		if !tripped {
			return crashes, bad
		}
	}
}

func TestWriteFilePowerCut(t *testing.T) {
	for _, c := range []struct {
		name string
		save saver
		safe bool
	}{
		{"WriteFile", goodSave, true},
		{"no file sync", brokenSave(false, true, true), false},
		{"no directory sync", brokenSave(true, false, true), false},
		{"in place", brokenSave(true, true, false), false},
	} {
		crashes, bad := violations(t, c.save)
		t.Logf("%s: %d of %d crashes lost or tore an acknowledged file", c.name, bad, crashes)
		if (bad == 0) != c.safe {
			t.Errorf("%s: %d bad of %d, want safe = %v", c.name, bad, crashes, c.safe)
		}
	}
}

// TestWriteDirPowerCut: the directory is there as a whole or not at all, and
// there once acknowledged.
func TestWriteDirPowerCut(t *testing.T) {
	fill := func(m fsx.FS) func(string) error {
		return func(tmp string) error {
			if err := m.Mkdir(filepath.Join(tmp, "sub"), 0o777); err != nil {
				return err
			}
			for _, name := range []string{"a", "sub/b"} {
				f, err := m.OpenFile(filepath.Join(tmp, name), os.O_WRONLY|os.O_CREATE, 0o666)
				if err != nil {
					return err
				}
				if _, err := io.WriteString(f, strings.Repeat(name, 1000)); err != nil {
					return err
				}
				if err := f.Close(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	careless := func(m fsx.FS, path string, fill func(string) error) error {
		if err := m.Mkdir(path+".tmp", 0o777); err != nil {
			return err
		}
		if err := fill(path + ".tmp"); err != nil {
			return err
		}
		if err := m.Rename(path+".tmp", path); err != nil {
			return err
		}
		return m.SyncDir(filepath.Dir(path))
	}
	for _, c := range []struct {
		name  string
		write func(fsx.FS, string, func(string) error) error
		safe  bool
	}{{"WriteDir", fsx.WriteDir, true}, {"no syncs inside", careless, false}} {
		bad, crashes := 0, 0
		for k, tripped := 1, true; tripped; k++ {
			for seed := uint64(0); seed < 10; seed++ {
				m := memfs.New()
				if err := fsx.MkdirAll(m, "run/c"); err != nil {
					t.Fatal(err)
				}
				m.CutAt(k)
				err := c.write(m, "run/c/step1", fill(m))
				tripped = m.Tripped()
				m.Restart(memfs.Random(seed))
				crashes++
				_, statErr := m.Stat("run/c/step1")
				if statErr != nil {
					if err == nil {
						bad++
					}
					continue
				}
				for _, name := range []string{"a", "sub/b"} {
					if got, err := fsx.ReadFile(m, "run/c/step1/"+name); err != nil || string(got) != strings.Repeat(name, 1000) {
						bad++
						break
					}
				}
			}
		}
		t.Logf("%s: %d of %d crashes bad", c.name, bad, crashes)
		if (bad == 0) != c.safe {
			t.Errorf("%s: %d bad of %d, want safe = %v", c.name, bad, crashes, c.safe)
		}
	}
}

// TestFaults: with ENOSPC or EIO at every operation WriteFile either fails and
// leaves the old content, or has written the new one; nothing is left over.
func TestFaults(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for k := 1; ; k++ {
			m := memfs.New()
			if err := fsx.WriteFile(m, "f", []byte("old")); err != nil {
				t.Fatal(err)
			}
			m.FailAt(k, cause, false)
			err := fsx.WriteFile(m, "f", []byte("new"))
			tripped := m.Tripped()
			m.Heal()
			if tripped && err != nil && !errors.Is(err, cause) {
				t.Errorf("operation %d: error %v does not wrap %v", k, err, cause)
			}
			got, _ := fsx.ReadFile(m, "f")
			switch {
			case err == nil && string(got) != "new":
				t.Errorf("operation %d: acknowledged, but the content is %q", k, got)
			case err != nil && !errors.Is(err, fsx.ErrSync) && string(got) != "old":
				t.Errorf("operation %d: failed with %v, and the content is %q", k, err, got)
			}
			if entries, _ := m.ReadDir("/"); len(entries) != 1 {
				t.Errorf("operation %d: %d entries are left", k, len(entries))
			}
			if !tripped {
				break
			}
		}
	}
}

// TestSyncIsFatal: a failed fsync is ErrSync wherever it happens.
func TestSyncIsFatal(t *testing.T) {
	syncs := 0
	for k := 1; k <= 12; k++ {
		m := memfs.New()
		m.FailAt(k, syscall.EIO, false)
		err := fsx.WriteFile(m, "f", []byte("x"))
		var pe *fs.PathError
		if errors.As(err, &pe) && strings.HasPrefix(pe.Op, "sync") {
			syncs++
			if !errors.Is(err, fsx.ErrSync) {
				t.Errorf("failed %s is not ErrSync: %v", pe.Op, err)
			}
		} else if errors.Is(err, fsx.ErrSync) {
			t.Errorf("operation %d is no sync, yet: %v", k, err)
		}
	}
	if syncs != 2 {
		t.Errorf("WriteFile syncs %d times, want the file and the directory", syncs)
	}
}

func TestWriteDirKeepsExisting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "step1")
	if err := fsx.MkdirAll(fsx.OS, filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	write := func(text string) error {
		return fsx.WriteDir(fsx.OS, dir, func(tmp string) error {
			return os.WriteFile(filepath.Join(tmp, "x"), []byte(text), 0o666)
		})
	}
	if err := write("first"); err != nil {
		t.Fatal(err)
	}
	if err := write("second"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second write: %v, want fs.ErrExist", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(got) != "first" {
		t.Errorf("content %q, %v", got, err)
	}
	failed := fsx.WriteDir(fsx.OS, dir+"2", func(string) error { return io.ErrUnexpectedEOF })
	if !errors.Is(failed, io.ErrUnexpectedEOF) {
		t.Errorf("failed fill: %v", failed)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 1 {
		t.Errorf("%d entries are left, want 1", len(entries))
	}
}

func TestRemoveTemps(t *testing.T) {
	m := memfs.New()
	if err := fsx.WriteFile(m, "keep", nil); err != nil {
		t.Fatal(err)
	}
	m.CutAt(3) // after the temporary file was made and written
	if err := fsx.WriteFile(m, "lost", []byte("x")); err == nil {
		t.Fatal("no power cut")
	}
	m.Restart(memfs.KeepAll)
	if err := fsx.RemoveTemps(m, "/", ""); err != nil {
		t.Error(err)
	}
	if entries, _ := m.ReadDir("/"); len(entries) != 1 || entries[0].Name() != "keep" {
		t.Errorf("left: %v", entries)
	}
}

// TestRemoveTempsOf: only what WriteFile began for this one name goes.
func TestRemoveTempsOf(t *testing.T) {
	m := memfs.New()
	if err := fsx.RemoveTempsOf(m, "none/index"); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
	others := []string{".index.json.7-1.partial", ".x.index.7-1.partial", ".index.7-1", "index.7-1.partial", "index"}
	for _, name := range append([]string{".index.7-1.partial", ".index.8-22.partial"}, others...) {
		if err := fsx.WriteFile(m, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := fsx.RemoveTempsOf(m, "/index"); err != nil {
		t.Fatal(err)
	}
	entries, _ := m.ReadDir("/")
	left := map[string]bool{}
	for _, e := range entries {
		left[e.Name()] = true
	}
	for _, name := range others {
		if !left[name] {
			t.Errorf("%s is gone", name)
		}
	}
	if len(left) != len(others) {
		t.Errorf("left: %v", entries)
	}
}

// TestRemoveDirAfterKill: a directory whose removal was killed before the new name was
// durable is whole or gone, whenever the power goes during the next removal.
func TestRemoveDirAfterKill(t *testing.T) {
	for _, remove := range []func(*memfs.FS) error{
		func(m *memfs.FS) error { return fsx.RemoveDir(m, "net") },
		func(m *memfs.FS) error { return fsx.RemoveTemps(m, "/", fsx.RemovedMark) },
	} {
		for k, tripped := 1, true; tripped; k++ {
			for seed := range uint64(40) {
				m := memfs.New()
				if err := fsx.WriteDir(m, "net", func(tmp string) error {
					return errors.Join(fsx.WriteFile(m, filepath.Join(tmp, "a"), nil), fsx.WriteFile(m, filepath.Join(tmp, "b"), nil))
				}); err != nil {
					t.Fatal(err)
				}
				if err := m.Rename("net", fsx.MarkedTemp("net", fsx.RemovedMark)); err != nil { // killed here
					t.Fatal(err)
				}
				m.CutAt(k)
				err := remove(m)
				tripped = m.Tripped()
				m.Restart(memfs.Random(seed))
				if list, _ := fsx.Entries(m, "net"); len(list) != 0 && len(list) != 2 {
					t.Fatalf("operation %d, seed %d: %v is left, %v", k, seed, list, err)
				}
			}
		}
	}
}

// TestAppend runs on both file systems.
func TestAppend(t *testing.T) {
	for name, fsys := range map[string]fsx.FS{"os": fsx.OS, "memory": memfs.New()} {
		dir := "dir"
		if name == "os" {
			dir = filepath.Join(t.TempDir(), "dir")
		}
		if err := fsx.MkdirAll(fsys, dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "log")
		for round := range 2 {
			a, err := fsx.OpenAppend(fsys, path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(a, "line %d\n", round)
			if err := a.Sync(); err != nil {
				t.Errorf("%s: Sync: %v", name, err)
			}
			if round == 1 {
				if err := a.Truncate(9); err == nil && a.Size() < 9 {
					t.Errorf("%s: cut beyond the end", name)
				}
				if err := a.Truncate(100); err == nil {
					t.Errorf("%s: a cut that makes the file longer was accepted", name)
				}
			}
			if err := errors.Join(a.Close(), a.Close()); err != nil {
				t.Error(err)
			}
			if err := a.Sync(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s: Sync after Close: %v", name, err)
			}
		}
		if got, err := fsx.ReadFile(fsys, path); err != nil || string(got) != "line 0\nli" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := fsx.CreateAppend(fsys, path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: CreateAppend of an existing file: %v", name, err)
		}
	}
}

// TestAppendFaults: a failed write leaves no part behind, a failed Sync ends
// the file for good.
func TestAppendFaults(t *testing.T) {
	m := memfs.New()
	a, err := fsx.OpenAppend(m, "log")
	if err != nil {
		t.Fatal(err)
	}
	a.Write([]byte("whole\n"))
	m.FailAt(1, syscall.ENOSPC, false)
	if _, err := a.Write([]byte("too much\n")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write: %v", err)
	}
	if _, err := a.Write([]byte("again\n")); err != nil {
		t.Errorf("write after room was made: %v", err)
	}
	if got, _ := fsx.ReadFile(m, "log"); string(got) != "whole\nagain\n" {
		t.Errorf("content %q", got)
	}
	m.FailAt(1, syscall.EIO, false)
	for range 2 {
		if err := a.Sync(); !errors.Is(err, fsx.ErrSync) {
			t.Errorf("Sync: %v, want ErrSync", err)
		}
	}
	if _, err := a.Write([]byte("x")); !errors.Is(err, fsx.ErrSync) {
		t.Errorf("Write after a failed Sync: %v, want ErrSync", err)
	}
	m.Restart(memfs.KeepAll)
	if got, _ := fsx.ReadFile(m, "log"); len(got) != 0 {
		t.Errorf("%q survived a failed Sync: memfs must drop it, as Linux may", got)
	}
}

func TestSpace(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		free, total, need uint64
		ok                bool
	}{
		{3 * gib, 20 * gib, 0, true},
		{2*gib - 1, 20 * gib, 0, false},      // below 2 GiB
		{2 * gib, 20 * gib, 0, true},         // exactly
		{2 * gib, 20 * gib, 1, false},        // but nothing beyond
		{4 * gib, 100 * gib, 0, false},       // 4 %
		{6 * gib, 100 * gib, 0, true},        // 6 %
		{6 * gib, 100 * gib, gib + 1, false}, // not for this chunk
		{gib, 4 * gib, 0, true},              // a quarter of a small disk
		{gib - 1, 4 * gib, 0, false},
	} {
		m := memfs.New()
		m.SetSpace(fsx.Space{Free: c.free, Total: c.total})
		err := fsx.DefaultReserve.Check(m, "/", c.need)
		var full *fsx.SpaceError
		if (err == nil) != c.ok || (err != nil && !errors.As(err, &full)) {
			t.Errorf("free %d of %d, need %d: %v, want ok = %v", c.free, c.total, c.need, err, c.ok)
		}
	}
	if space, err := fsx.OS.Space(t.TempDir()); err != nil || space.Free == 0 {
		t.Errorf("space of the real file system: %+v, %v", space, err)
	}
}
