package replay

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/record"
)

// session writes games in groups and returns the ordinals acknowledged, with
// small chunks so that sealing and rotation happen too.
func session(fsys fsx.FS, groups [][]*record.Game) (acked []uint64, err error) {
	w := NewWriter(fsys, "run/selfplay/net/0", WriterOptions{NetID: "net", MaxBytes: 900})
	for _, games := range groups {
		for _, g := range games {
			if err := w.Append(g); err != nil {
				return acked, err
			}
		}
		if err := w.Sync(); err != nil {
			return append(acked, ordinals(games)[:min(len(games), max(0, int(w.Durable())-len(acked)))]...), err
		}
		acked = append(acked, ordinals(games)...)
	}
	return acked, w.Close()
}

func testGroups() [][]*record.Game {
	return [][]*record.Game{testGames(0, 2, 2), testGames(2, 3, 2), testGames(3, 5, 2), testGames(5, 6, 2)}
}

func TestWriterRotation(t *testing.T) {
	m := memfs.New()
	acked, err := session(m, testGroups())
	if err != nil || len(acked) != 6 {
		t.Fatalf("acknowledged %v, %v", acked, err)
	}
	m.Restart(memfs.DropAll) // sealed means sealed for good
	scan, err := ScanDir(context.Background(), m, "run")
	if err != nil || sameGames(scan.Games, testGames(0, 6, 2)) != nil || scan.Duplicates != 0 || scan.Quarantine != nil {
		t.Errorf("scan %+v, %v", scan, err)
	}
	if len(scan.Chunks) < 2 {
		t.Errorf("%d chunks, want rotation", len(scan.Chunks))
	}
	for _, c := range scan.Chunks {
		if c.Torn || !strings.HasSuffix(c.Path, SealedSuffix) {
			t.Errorf("%s is not sealed", c.Path)
		}
	}
	if _, err := session(m, [][]*record.Game{testGames(6, 8, 2)}); err != nil { // another start in the same directory
		t.Fatal(err)
	}
	if scan, err := ScanDir(context.Background(), m, "run"); err != nil || scan.NumGames != 8 {
		t.Errorf("after a second session: %d games, %v", scan.NumGames, err)
	}
}

// noSync is a disk whose file syncs do nothing, noDirSync one whose directory
// syncs do nothing: writers over them must lose games.
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

// TestWriterPowerCut cuts the power at every operation. Every acknowledged game
// is there exactly once after the restart, none is there that was not written,
// and the sealed leftovers hold the same.
func TestWriterPowerCut(t *testing.T) {
	for _, c := range []struct {
		name string
		wrap func(fsx.FS) fsx.FS
		safe bool
	}{
		{"writer", func(m fsx.FS) fsx.FS { return m }, true},
		{"without file sync", func(m fsx.FS) fsx.FS { return noSync{m} }, false},
		{"without directory sync", func(m fsx.FS) fsx.FS { return noDirSync{m} }, false},
	} {
		groups := testGroups()
		crashes, bad := 0, 0
		for k, tripped := 1, true; tripped; k++ {
			for seed := uint64(0); seed < 8; seed++ {
				m := memfs.New()
				m.CutAt(k)
				acked, _ := session(c.wrap(m), groups)
				tripped = m.Tripped()
				fate := memfs.Random(seed)
				if seed == 0 {
					fate = memfs.DropAll
				}
				m.Restart(fate)
				crashes++
				if err := checkAcked(m, acked); err != nil {
					bad++
					if c.safe {
						t.Errorf("cut at operation %d, seed %d: %v", k, seed, err)
					}
				}
			}
		}
		t.Logf("%s: %d of %d crashes lost a game", c.name, bad, crashes)
		if (bad == 0) != c.safe {
			t.Errorf("%s: %d bad of %d, want safe = %v", c.name, bad, crashes, c.safe)
		}
	}
}

// checkAcked scans, seals what is torn, scans again.
func checkAcked(m *memfs.FS, acked []uint64) error {
	ctx := context.Background()
	first, err := ScanDir(ctx, m, "run")
	if err != nil {
		return err
	}
	if err := holds(first.Games, acked); err != nil {
		return err
	}
	if _, err := SealTorn(ctx, m, "run", true); err != nil {
		return err
	}
	m.Restart(memfs.DropAll)
	second, err := ScanDir(ctx, m, "run")
	if err != nil {
		return err
	}
	for _, c := range second.Chunks {
		if c.Torn {
			return errors.New(c.Path + " is still torn")
		}
	}
	return sameGames(second.Games, first.Games)
}

// holds says whether the games are whole and contain the acknowledged ones.
func holds(games []*record.Game, acked []uint64) error {
	list := ordinals(games)
	for _, o := range acked {
		if !slices.Contains(list, o) {
			return errors.New("an acknowledged game is lost")
		}
	}
	for _, g := range games {
		if err := sameGames([]*record.Game{g}, testGames(g.Ordinal, g.Ordinal+1, 2)); err != nil {
			return err
		}
	}
	return nil
}

// TestWriterFaults lets every operation fail once: with ENOSPC and EIO the
// writer goes on afterwards and loses nothing, unless a sync failed, which is
// fatal and sticky. No acknowledged game is ever lost or doubled.
func TestWriterFaults(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for k, tripped := 1, true; tripped; k++ {
			m := memfs.New()
			w := NewWriter(m, "run", WriterOptions{MaxBytes: 900})
			m.FailAt(k, cause, false)
			var fatal error
			for _, games := range testGroups() {
				for _, g := range games {
					if err := w.Append(g); err != nil && fatal == nil {
						t.Fatalf("operation %d: Append: %v", k, err)
					}
				}
				if err := w.Sync(); err != nil {
					if !errors.Is(err, cause) {
						t.Fatalf("operation %d: %v does not wrap %v", k, err, cause)
					}
					if errors.Is(err, fsx.ErrSync) {
						fatal = err
					}
				} else if fatal != nil {
					t.Fatalf("operation %d: Sync returns nil after %v", k, fatal)
				}
			}
			durable := w.Durable()
			closeErr := w.Close()
			if fatal == nil && closeErr == nil && w.Durable() != 6 {
				t.Errorf("operation %d: %d games durable, want 6", k, w.Durable())
			}
			tripped = m.Tripped()
			m.Heal()
			scan, err := ScanDir(context.Background(), m, "run")
			if err != nil {
				t.Fatal(err)
			}
			if int64(scan.NumGames) < durable || holds(scan.Games, nil) != nil {
				t.Errorf("operation %d: %d games on disk, %d were durable", k, scan.NumGames, durable)
			}
		}
	}
}

func TestWriterSpace(t *testing.T) {
	m := memfs.New()
	m.SetSpace(fsx.Space{Free: 1 << 30, Total: 100 << 30})
	w := NewWriter(m, "run", WriterOptions{})
	if err := w.Append(testGame(0, 2)); err != nil {
		t.Fatal(err)
	}
	var full *fsx.SpaceError
	if err := w.Sync(); !errors.As(err, &full) {
		t.Errorf("Sync on a full disk: %v", err)
	}
	m.SetSpace(fsx.Space{Free: 50 << 30, Total: 100 << 30})
	if err := w.Sync(); err != nil || w.Durable() != 1 {
		t.Errorf("Sync after room was made: %v, %d durable", err, w.Durable())
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if err := w.Append(testGame(1, 2)); !errors.Is(err, ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
}

// TestWriterOS runs on the real file system, in a path with a space.
func TestWriterOS(t *testing.T) {
	dir := t.TempDir() + "/a run"
	w := NewWriter(fsx.OS, dir+"/selfplay", WriterOptions{Reserve: smallReserve})
	games := testGames(0, 5, 10)
	for _, g := range games {
		if err := errors.Join(w.Append(g), w.Sync()); err != nil {
			t.Fatal(err)
		}
	}
	growing, err := ScanDir(context.Background(), fsx.OS, dir)
	if err != nil || sameGames(growing.Games, games) != nil || !growing.Chunks[0].Torn {
		t.Errorf("while it grows: %+v, %v", growing, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sealed, err := ScanDir(context.Background(), fsx.OS, dir)
	if err != nil || sameGames(sealed.Games, games) != nil || sealed.Chunks[0].Torn || len(sealed.Chunks) != 1 {
		t.Errorf("sealed: %+v, %v", sealed, err)
	}
}
