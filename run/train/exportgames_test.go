package train

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// TestExportGames: an exporter of games has the training window, and a run goes
// on where there are none yet.
func TestExportGames(t *testing.T) {
	dir := t.TempDir() + "/run"
	s, log := train(t, dir, `export { exporter: "pgn" every_checkpoints: 1 keep: 2 settings { key: "games" value: "0" } }`)
	if !strings.Contains(log, "nothing is exported: there are no games yet") {
		t.Errorf("nothing is said of the untrained net:\n%s", log)
	}
	text := filetest.Read(t, s.Net)
	var got []string
	for _, g := range runtest.ReadPGN(t, string(text)) {
		got = append(got, g.Tag("GameId"))
	}
	d, _ := jobOf(t, dir)
	var want []string
	for _, id := range journalIDs(t, d) {
		if raw, ok := (run.Entry{Game: id}).GameID(); ok && !record.IsValidation(raw, 0.3) {
			want = append(want, id)
		}
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("exported games %v, want those of the training window: %v", got, want)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "models", "*")); err != nil || len(files) != 2 {
		t.Errorf("kept %v, %v", files, err)
	}
	if left := runtest.Temps(t, dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// TestExportGamesOfRows: where rows come from a shuffle, the games are those of
// the run's directory.
func TestExportGamesOfRows(t *testing.T) {
	dir, out := t.TempDir()+"/run", t.TempDir()
	if _, err := playBeside(t, t.Context(), dir, 1, 6); err != nil {
		t.Fatal(err)
	}
	shuffleGames(t, run.Dir{Root: dir}.Selfplay(), out, time.Unix(1000, 0))
	s, log := train(t, dir, `--source=shuffled --steps=30 --source-dir=`+out+` export { exporter: "pgn" }`)
	text, err := os.ReadFile(s.Net)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	want := 0
	for id := range runtest.GamesOnDisk(t, dir) {
		if raw, ok := (run.Entry{Game: id}).GameID(); ok && !record.IsValidation(raw, 0.3) {
			want++
		}
	}
	if n := len(runtest.ReadPGN(t, string(text))); n != want || n == 0 {
		t.Errorf("%d games, want %d", n, want)
	}
}

// TestDirGames: the newest files' games, oldest first, each once, without those
// held out; also of a file that grows.
func TestDirGames(t *testing.T) {
	root := t.TempDir()
	games, seed := runtest.AnyGames(t, 12)
	write := func(dir string, at int64, growing bool, games ...*record.Game) {
		t.Helper()
		dir = filepath.Join(root, dir)
		w := replay.NewWriter(fsx.OS, dir, replay.WriterOptions{})
		for _, g := range games {
			if err := w.Append(g); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
		if !growing {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Cleanup(func() { w.Close() })
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.Chtimes(filepath.Join(dir, e.Name()), time.Unix(at, 0), time.Unix(at, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("z-s1-d1/train", 100, false, games[:4]...)
	write("a-s2-d2/train", 200, false, games[4:8]...)
	write("a-s2-d2/p1", 300, true, append(games[3:5:5], games[8:]...)...)
	write(".hidden", 400, false, games...)
	write("a-s0-d0/p1", 999, false, games[0]) // as in a copy: the net's name counts
	ordinals := func(rows int64, share float64) (list []uint64) {
		t.Helper()
		for g, err := range replay.DirGames(t.Context(), root, rows, share, runtest.LogTo(io.Discard)) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, g.Ordinal)
		}
		return list
	}
	all := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	if got := ordinals(0, 0); !slices.Equal(got, all) {
		t.Errorf("all games: %v", got)
	}
	if got := ordinals(1, 0); !slices.Equal(got, []uint64{3, 4, 8, 9, 10, 11}) {
		t.Errorf("of the newest file: %v", got)
	}
	if got := ordinals(6*8+1, 0); !slices.Equal(got, []uint64{4, 5, 6, 7, 3, 8, 9, 10, 11}) { // 8 plies a game
		t.Errorf("of the two newest files: %v", got)
	}
	trained := slices.DeleteFunc(slices.Clone(all), func(n uint64) bool { return record.IsValidation(games[n].ID, 0.4) })
	if got := ordinals(0, 0.4); !slices.Equal(got, trained) || len(trained) == len(all) {
		t.Errorf("seed %d: without those held out: %v, want %v", seed, got, trained)
	}
	for range replay.DirGames(t.Context(), filepath.Join(root, "nothing"), 10, 0, runtest.LogTo(io.Discard)) {
		t.Error("a directory that is not there has games")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for g, err := range replay.DirGames(ended, root, 0, 0, runtest.LogTo(io.Discard)) {
		if g != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("stopped: %v, %v", g, err)
		}
	}
}
