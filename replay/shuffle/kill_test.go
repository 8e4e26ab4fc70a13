package shuffle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/replay"
)

// noSync is a disk whose file syncs do nothing, noDirSync one whose directory
// syncs do nothing: shuffles on them must get lost.
type noSync struct{ fsx.FS }
type noSyncFile struct{ fsx.File }
type noDirSync struct{ fsx.FS }

func (n noSync) OpenFile(name string, flag int, perm fs.FileMode) (fsx.File, error) {
	f, err := n.FS.OpenFile(name, flag, perm)
	return noSyncFile{f}, err
}
func (noSyncFile) Sync() error         { return nil }
func (noSyncFile) SyncData() error     { return nil }
func (noDirSync) SyncDir(string) error { return nil }

// smallRun has few games, so that a shuffle takes few operations.
func smallRun(t testing.TB) *memfs.FS {
	m := memfs.New()
	for path, data := range smallChunks() {
		if err := fsx.MkdirAll(m, filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		if err := fsx.WriteFile(m, path, data); err != nil {
			t.Fatal(err)
		}
	}
	m.Restart(memfs.DropAll)
	return m
}

var smallChunks = sync.OnceValue(func() map[string][]byte {
	m, files := memfs.New(), map[string][]byte{}
	for k, dir := range []string{"run/selfplay/a/p0", "run/selfplay/b/p0"} {
		w := replay.NewWriter(m, dir, replay.WriterOptions{NetID: "net"})
		for _, g := range testGames(uint64(k)*3, uint64(k)*3+3, 6) {
			if err := w.Append(g); err != nil {
				panic(err)
			}
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		path := dir + "/00000001.games"
		data, err := fsx.ReadFile(m, path)
		if err != nil {
			panic(err)
		}
		files[path] = data
	}
	return files
})

func killOptions(m fsx.FS) Options {
	o := testOptions(m)
	o.RowsPerFile, o.Threads, o.ScratchDir = 12, 1, "scratch"
	return o
}

// stopped begins a shuffle that is stopped as it permutes, and returns its options.
func stopped(t *testing.T, m fsx.FS) Options {
	t.Helper()
	o := killOptions(m)
	ctx, cancel := context.WithCancel(context.Background())
	o.Report = func(line string) {
		if strings.Contains(line, "permuting") {
			cancel()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	return o
}

// readAll returns the rows of the newest shuffle, or an error.
func readAll(m fsx.FS, dir string) (rows []string, err error) {
	src, err := OpenLatest(m, dir)
	if err != nil {
		return nil, err
	}
	for _, s := range []batchSource{src, src.Validation(0)} {
		b := encoding.NewTrainBatch(16)
		for {
			b.Reset()
			if err := s.Next(context.Background(), b); err != nil {
				if err.Error() == "EOF" {
					break
				}
				return nil, err
			}
			for i := range b.N {
				rows = append(rows, rowString(b, i))
			}
		}
	}
	return rows, nil
}

// TestPowerCut cuts the power at every operation of a shuffle. What is visible
// after that is a whole shuffle or none, an acknowledged one is there, and the
// next call ends with the rows of an undisturbed shuffle in the same order and
// leaves nothing behind.
func TestPowerCut(t *testing.T) {
	ctx := context.Background()
	calm := smallRun(t)
	if _, err := Run(ctx, killOptions(calm)); err != nil {
		t.Fatal(err)
	}
	want, err := readAll(calm, "run/shuffled")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		wrap func(fsx.FS) fsx.FS
		safe bool
	}{
		{"shuffle", func(m fsx.FS) fsx.FS { return m }, true},
		{"without file sync", func(m fsx.FS) fsx.FS { return noSync{m} }, false},
		{"without directory sync", func(m fsx.FS) fsx.FS { return noDirSync{m} }, false},
	} {
		crashes, bad, resumed := 0, 0, 0
		for k, tripped := 1, true; tripped; k++ {
			if !c.safe && bad > 0 {
				break // that it can go wrong is all that is asked of it
			}
			for seed := range uint64(2) {
				m := smallRun(t)
				m.CutAt(k)
				_, err := Run(ctx, killOptions(c.wrap(m)))
				tripped = m.Tripped()
				fate := memfs.Random(seed)
				if seed == 0 {
					fate = memfs.DropAll
				}
				m.Restart(fate)
				crashes++
				said, fault := afterCut(m, err == nil, want)
				if fault != nil {
					bad++
					if c.safe {
						t.Errorf("cut at operation %d, seed %d: %v", k, seed, fault)
					}
				}
				if strings.Contains(said, "goes on") {
					resumed++
				}
			}
		}
		t.Logf("%s: %d of %d crashes went wrong, %d went on", c.name, bad, crashes, resumed)
		if (bad == 0) != c.safe || c.safe && (resumed == 0 || resumed == crashes) {
			t.Errorf("%s: %d bad of %d, want safe = %v; %d went on", c.name, bad, crashes, c.safe, resumed)
		}
	}
}

// afterCut checks what a crash left, and what the next shuffle makes of it.
func afterCut(m *memfs.FS, acked bool, want []string) (said string, err error) {
	rows, err := readAll(m, "run/shuffled")
	if err != nil && (acked || !errors.Is(err, ErrNone)) {
		return "", fmt.Errorf("after the cut: %w", err)
	}
	if err == nil && !slices.Equal(rows, want) {
		return "", errors.New("what is visible is not the shuffle")
	}
	o := killOptions(m)
	o.Report = func(line string) { said += line + "\n" }
	if _, err := Run(context.Background(), o); err != nil {
		return said, fmt.Errorf("second run: %w", err)
	}
	if rows, err = readAll(m, "run/shuffled"); err != nil {
		return said, err
	}
	if !slices.Equal(rows, want) {
		return said, errors.New("the second run gives other rows")
	}
	if entries, err := m.ReadDir("scratch"); err != nil || len(entries) > 0 {
		return said, fmt.Errorf("scratch directory holds %v, %w", entries, err)
	}
	names, err := leftovers(m, "run/shuffled")
	if err != nil || len(names) > 0 {
		return said, fmt.Errorf("leftovers %v, %w", names, err)
	}
	if left, err := temps(m, "run/shuffled"); err != nil || len(left) > 0 {
		return said, fmt.Errorf("temporary files %v, %w", left, err)
	}
	return said, nil
}

// temps returns the temporary files below dir.
func temps(m *memfs.FS, dir string) (left []string, err error) {
	entries, err := m.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case fsx.IsTemp(e.Name()):
			left = append(left, path)
		case e.IsDir() && err == nil:
			var below []string
			below, err = temps(m, path)
			left = append(left, below...)
		}
	}
	return left, err
}

// TestTemps: the next shuffle removes what a killed one was writing, of the index and in
// the shuffle that it goes on with, and nothing that another program is writing.
func TestTemps(t *testing.T) {
	m := smallRun(t)
	o := stopped(t, m)
	names, err := leftovers(m, o.OutputDir)
	if err != nil || len(names) != 1 {
		t.Fatalf("leftovers %v, %v", names, err)
	}
	others := fsx.MarkedTemp(filepath.Join(o.OutputDir, "20240101-000000"), fsx.RemovedMark)
	temp := "run/shuffled/" + names[0] + ".tmp"
	for _, path := range []string{"run/shuffled/.games.index.77-1.partial", others,
		temp + "/.plan.json.77-2.partial", temp + "/train/.data000000.rows.77-3.partial"} {
		if err := fsx.WriteFile(m, path, []byte("half")); err != nil {
			t.Fatal(err)
		}
	}
	done, err := Run(context.Background(), killOptions(m))
	if err != nil || done.Name != names[0] {
		t.Fatalf("shuffle %+v, %v; want %s to go on", done, err, names[0])
	}
	if left, err := temps(m, o.OutputDir); err != nil || !slices.Equal(left, []string{others}) {
		t.Errorf("temporary files %v, %v; want %s alone", left, err, others)
	}
}

// TestErrors lets every operation fail once, then all from some operation on:
// a shuffle that says it is done is whole, and the next one is exact.
func TestErrors(t *testing.T) {
	ctx := context.Background()
	calm := smallRun(t)
	if _, err := Run(ctx, killOptions(calm)); err != nil {
		t.Fatal(err)
	}
	want, err := readAll(calm, "run/shuffled")
	if err != nil {
		t.Fatal(err)
	}
	for _, sticky := range []bool{false, true} {
		for k, tripped := 1, true; tripped; k++ {
			m := smallRun(t)
			m.FailAt(k, syscall.ENOSPC, sticky)
			manifest, err := Run(ctx, killOptions(m))
			tripped = m.Tripped()
			m.Heal()
			if err == nil && len(manifest.Quarantine) == 0 {
				if rows, err := readAll(m, "run/shuffled"); err != nil || !slices.Equal(rows, want) {
					t.Errorf("operation %d, sticky %v: done, but %d rows, %v", k, sticky, len(rows), err)
				}
			}
			if _, err := afterCut(m, err == nil && len(manifest.Quarantine) > 0, want); err != nil && (manifest == nil || len(manifest.Quarantine) == 0) {
				t.Errorf("operation %d, sticky %v: %v", k, sticky, err)
			}
		}
	}
}

// TestOtherSettings: what was begun with other settings is not finished, but
// removed with its buckets; nothing else is.
func TestOtherSettings(t *testing.T) {
	m := smallRun(t)
	o := stopped(t, m)
	names, err := leftovers(m, o.OutputDir)
	if err != nil || len(names) != 1 {
		t.Fatalf("leftovers %v, %v", names, err)
	}
	if buckets, err := m.ReadDir("scratch"); err != nil || len(buckets) != 1 {
		t.Fatalf("scratch %v, %v", buckets, err)
	}
	if err := fsx.WriteFile(m, "scratch/mine", nil); err != nil {
		t.Fatal(err)
	}
	o = killOptions(m)
	o.Seed++
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if entries, err := m.ReadDir("scratch"); err != nil || len(entries) != 1 || entries[0].Name() != "mine" {
		t.Errorf("scratch holds %v, %v", entries, err)
	}
	checkTree(t, m)
	finished, err := List(m, o.OutputDir)
	if err != nil || len(finished) != 1 {
		t.Errorf("finished %v, %v", finished, err)
	}
}

// TestLostScratch: buckets that are gone or damaged make the shuffle start over.
func TestLostScratch(t *testing.T) {
	for _, damage := range []func(m *memfs.FS, dir string) error{
		func(m *memfs.FS, dir string) error { return fsx.RemoveAll(m, dir) },
		func(m *memfs.FS, dir string) error {
			data, err := fsx.ReadFile(m, bucketPath(dir, 1))
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 4
			return fsx.WriteFile(m, bucketPath(dir, 1), data)
		},
	} {
		m := smallRun(t)
		stopped(t, m)
		entries, err := m.ReadDir("scratch")
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		if err := damage(m, filepath.Join("scratch", entries[0].Name())); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), killOptions(m)); err != nil {
			t.Fatal(err)
		}
		checkTree(t, m)
	}
}
