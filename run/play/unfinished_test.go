package play

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// TestUnfinishedGames: a process that is stopped saves the games under way; the
// next start goes on with them, and every game of the run comes once. Another
// seed, or a damaged file, costs nothing but the games under way.
func TestUnfinishedGames(t *testing.T) {
	dir := t.TempDir() + "/run"
	e := runtest.Resolve(t, dir, "--games-per-worker=6 --max-plies=60")
	e.Config.Selfplay.ProducerWorkers = new(int32(2))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // stops as soon as a game is durable
		defer cancel()
		for ctx.Err() == nil {
			if scan, err := replay.ScanDir(t.Context(), fsx.OS, run.Dir{Root: dir}.Selfplay()); err != nil || scan.NumGames > 0 {
				return
			}
			runtime.Gosched()
		}
	}()
	p, err := playWith(t, ctx, e, 1, 200)
	if !errors.Is(err, run.ErrInterrupted) || p.Games >= 200 {
		t.Fatalf("%+v, %v", p, err)
	}
	file := run.Dir{Root: dir}.UnfinishedFile("p1")
	saved, err := ReadUnfinished(file)
	if err != nil || len(saved) == 0 || len(saved) != p.Saved || len(saved) > 12 {
		t.Fatalf("%d unfinished games in the file, %d told: %v", len(saved), p.Saved, err)
	}
	done := int(p.Games) + len(saved)
	if p, err = playWith(t, t.Context(), e, 1, int64(done)); err != nil || p.Games != int64(done) || p.Saved != 0 {
		t.Fatalf("gone on: %+v, %v", p, err)
	}
	if n := len(runtest.GamesOnDisk(t, dir)); n != done {
		t.Errorf("%d games on disk, want %d", n, done)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of unfinished games is still there: %v", err)
	}
	if err := saveUnfinished(file, saved); err != nil {
		t.Fatal(err)
	}
	data := filetest.Read(t, file)
	for _, cut := range []int{1, len(data) / 2, len(data) - 1} {
		filetest.Write(t, file, data[:cut])
		if games, err := ReadUnfinished(file); err == nil || len(games) >= len(saved) {
			t.Errorf("%d of %d bytes: %d games, %v", cut, len(data), len(games), err)
		}
	}
	if p, err = playWith(t, t.Context(), e, 1, int64(done)+2); err != nil || p.Games != int64(done)+2 {
		t.Errorf("with a damaged file: %+v, %v", p, err)
	}
	if n := len(runtest.GamesOnDisk(t, dir)); n != done+2 {
		t.Errorf("%d games on disk, want %d", n, done+2)
	}
}
