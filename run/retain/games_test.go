package retain

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
)

// gamesOf is the path of a day's chunk below the run.
func gamesOf(n int) string {
	return fmt.Sprintf("selfplay/job-main-s%d-d%d/p1/00000001.games", 100+n, n)
}

// TestGameRows keeps the newest rows, and never less than the window and what is
// newer than it.
func TestGameRows(t *testing.T) {
	for _, c := range []struct {
		fields string
		want   []string
	}{
		{"", []string{}},
		{"game_rows=1000000", []string{}},
		{fmt.Sprintf("game_rows=%d", 4*rowsOfFile), []string{gamesOf(0), gamesOf(1)}},
		{fmt.Sprintf("game_rows=%d", 4*rowsOfFile-1), []string{gamesOf(0), gamesOf(1)}},
		{fmt.Sprintf("game_rows=%d", 4*rowsOfFile+1), []string{gamesOf(0)}},
		{"game_rows=1", []string{gamesOf(0), gamesOf(1), gamesOf(2)}},               // days 3 and 4 are the window, 5 is newer
		{"game_days=7.5", []string{gamesOf(0), gamesOf(1), gamesOf(2)}},             // on day 10
		{"game_days=8.5", []string{gamesOf(0), gamesOf(1)}},                         //
		{"game_days=8.5 game_rows=1", []string{gamesOf(0), gamesOf(1), gamesOf(2)}}, // either limit
	} {
		root := newRun(t)
		for n := range 5 {
			putGames(t, root, "job", n)
		}
		m := putShuffle(t, root, 5, 2*rowsOfFile)
		if len(m.Inputs) != 2 {
			t.Fatalf("the window has %d files", len(m.Inputs))
		}
		putGames(t, root, "job", 5)
		if r := collect(t, root, 10, c.fields); !slices.Equal(removed(r), c.want) {
			t.Errorf("%s: removed %v, want %v", c.fields, removed(r), c.want)
		}
		after := putShuffle(t, root, 11, 2*rowsOfFile)
		if want := [2]int64{4 * rowsOfFile, 6 * rowsOfFile}; after.Range != want || after.RemovedRows != int64(len(c.want))*rowsOfFile {
			t.Errorf("%s: the next shuffle has rows %v, %d of them removed, want %v", c.fields, after.Range, after.RemovedRows, want)
		}
	}
}

// TestNoShuffle: before the first shuffle, and where it has read other games,
// nothing is known of what will be needed.
func TestNoShuffle(t *testing.T) {
	root := newRun(t)
	if r := collect(t, root, 10, "game_rows=1 max_gib=1e-9"); len(r.Removed) != 0 { // no game at all
		t.Errorf("removed %v", removed(r))
	}
	for n := range 3 {
		putGames(t, root, "job", n)
	}
	if r := collect(t, root, 10, "game_rows=1 max_gib=1e-9"); len(r.Removed) != 0 || r.Over == 0 || r.Over >= r.Kept {
		t.Errorf("removed %v, over %d of %d", removed(r), r.Over, r.Kept)
	}
	other := newRun(t)
	if err := os.Rename(filepath.Join(root, "selfplay"), filepath.Join(other, "games")); err != nil {
		t.Fatal(err)
	}
	o := shuffle.Options{InputDirs: []string{filepath.Join(other, "games")}, OutputDir: filepath.Join(root, "shuffled"), Settings: shuffle.DefaultSettings(), Now: day(3)}
	o.Window.MinRows = 1
	if _, err := shuffle.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	putGames(t, root, "job", 7)
	if r := collect(t, root, 10, "game_rows=1"); len(r.Removed) != 0 {
		t.Errorf("removed %v", removed(r))
	}
}

// TestHeldGames: every kind of game file that is older than the window and must
// stay all the same.
func TestHeldGames(t *testing.T) {
	root := newRun(t)
	var paths []string
	for n := range 9 {
		job := "job"
		if n == 0 {
			job = "other"
		}
		paths = append(paths, putGames(t, root, job, n))
	}
	m := putShuffle(t, root, 10, rowsOfFile)
	if len(m.Inputs) != 1 {
		t.Fatalf("the window has %d files", len(m.Inputs))
	}
	if err := prepare.Pin(fsx.OS, paths[1]); err != nil {
		t.Fatal(err)
	}
	id := game(20).ID
	line, err := json.Marshal(run.Entry{Episode: 1, Game: hex.EncodeToString(id[:]), Ordinal: 20})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "journal"), string(line)+"\n")
	putCheckpoint(t, root, "other", 7, "", game(32))
	if err := os.Rename(paths[4], paths[4]+".tmp"); err != nil { // somebody writes it
		t.Fatal(err)
	}
	data := filetest.Read(t, paths[5])
	data[len(data)/2] ^= 1
	write(t, paths[5], string(data))
	dated(t, paths[5], 5)
	plan, err := json.Marshal(shuffle.Plan{Format: 1, Inputs: []shuffle.Input{{Path: "somewhere/else/" + gamesOf(6)}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "shuffled/20300101-000000.tmp/plan.json"), string(plan))
	if r := collect(t, root, 20, "game_rows=1"); len(r.Removed) != 0 {
		t.Errorf("a shuffle under way reads day 6: removed %v", removed(r))
	}
	if err := os.RemoveAll(filepath.Join(root, "shuffled/20300101-000000.tmp")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "selfplay/notes.txt"), "mine")
	r := collect(t, root, 20, "game_rows=1 game_days=1 max_gib=1e-9")
	if want := []string{gamesOf(6), gamesOf(7)}; !slices.Equal(removed(r), want) {
		t.Errorf("removed %v, want %v", removed(r), want)
	}
	for _, says := range []string{`job "other" wrote it`, "pinned by", "journal"} {
		if !strings.Contains(notes(r), says) {
			t.Errorf("no note of %q:\n%s", says, notes(r))
		}
	}
	if _, err := os.Stat(filepath.Join(root, "selfplay/notes.txt")); err != nil {
		t.Error(err)
	}
}

// TestSize removes the oldest games and shuffles until there is room.
func TestSize(t *testing.T) {
	root := newRun(t)
	var sizes []int64
	for n := range 4 {
		info, err := os.Stat(putGames(t, root, "job", 2*n)) // days 0, 2, 4, 6
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
		putShuffle(t, root, 2*n+1, rowsOfFile) // days 1, 3, 5, 7
	}
	all := collect(t, root, 10, "shuffles=100").Kept
	limit := func(bytes int64) string { return fmt.Sprintf("shuffles=100 max_gib=%.18g", float64(bytes)/(1<<30)) }
	if r := collect(t, root, 10, limit(all)); len(r.Removed) != 0 || r.Over != 0 {
		t.Errorf("what just fits: %v", removed(r))
	}
	r := collect(t, root, 10, limit(all-sizes[0]-1))
	if want := []string{gamesOf(0), "shuffled/20260102-120000"}; !slices.Equal(removed(r), want) || r.Kept > all-sizes[0]-1 || r.Over != 0 {
		t.Errorf("removed %v, want %v", removed(r), want)
	}
	r = collect(t, root, 10, limit(1))
	if want := []string{gamesOf(2), "shuffled/20260104-120000", gamesOf(4), "shuffled/20260106-120000"}; !slices.Equal(removed(r), want) || r.Over != r.Kept-1 {
		t.Errorf("removed %v, want %v; over %d of %d", removed(r), want, r.Over, r.Kept)
	}
}

// TestOneCollector: a second one at the same time is refused; a cycle leaves the
// work to the first.
func TestOneCollector(t *testing.T) {
	root := newRun(t)
	putNet(t, filepath.Join(root, "rejectedmodels/a.safetensors"), "job", 0)
	l, err := fsx.Acquire(filepath.Join(root, "locks/gc"), fsx.LockOptions{Command: "the first"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Options{Root: root, Keep: retention(t, "rejected=0")})
	if _, ok := errors.AsType[*fsx.LockedError](err); !ok {
		t.Errorf("%v", err)
	}
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if err := Apply(t.Context(), root, retention(t, "rejected=0"), logger); err != nil || !strings.Contains(log.String(), "the first") {
		t.Errorf("%v: %s", err, log.String())
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := Apply(t.Context(), root, retention(t, "rejected=0"), logger); err != nil || !strings.Contains(log.String(), "removed=1") {
		t.Errorf("%v: %s", err, log.String())
	}
	if err := Apply(t.Context(), t.TempDir(), retention(t, ""), logger); err == nil || !strings.Contains(err.Error(), "not a run directory") {
		t.Errorf("no run: %v", err)
	}
}

// TestCountedOnce: after any removal the games that are there and those that are
// listed are all that were played.
func TestCountedOnce(t *testing.T) {
	root := newRun(t)
	for n := range 6 {
		putGames(t, root, "job", n)
	}
	putShuffle(t, root, 7, rowsOfFile)
	for n := 5; n > 0; n-- {
		collect(t, root, 10, fmt.Sprintf("game_rows=%d", n*rowsOfFile))
		scan, err := replay.ScanDir(t.Context(), fsx.OS, filepath.Join(root, "selfplay"))
		if err != nil {
			t.Fatal(err)
		}
		files, err := replay.ReadRemoved(fsx.OS, filepath.Join(root, "selfplay"))
		if err != nil {
			t.Fatal(err)
		}
		gone := 0
		for _, f := range files {
			gone += f.Games
			if f.TrainRows != rowsOfFile || f.Process() != "p1" || !slices.Equal(f.Ordinals, [][2]uint64{{f.Ordinals[0][0], f.Ordinals[0][0] + 3}}) {
				t.Errorf("%+v", f)
			}
		}
		if scan.NumGames != 3*n || gone != 18-3*n {
			t.Errorf("limit of %d files: %d games there, %d removed", n, scan.NumGames, gone)
		}
	}
}
