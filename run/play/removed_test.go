package play

import (
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// TestRemovedGames: games that retention removed were played: a process that
// starts again plays only what is missing, and none of them once more.
func TestRemovedGames(t *testing.T) {
	dir := t.TempDir() + "/run"
	if n, err := play(t, t.Context(), dir, 2, 4); err != nil || n != 4 {
		t.Fatalf("%d games, %v", n, err)
	}
	first := runtest.GamesOnDisk(t, dir)
	selfplay := run.Dir{Root: dir}.Selfplay()
	byFile := map[string][]*record.Game{}
	if _, err := replay.WalkGames(t.Context(), fsx.OS, selfplay, func(path string, g *record.Game) error {
		byFile[path] = append(byFile[path], g)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for path, games := range byFile {
		rel, err := filepath.Rel(selfplay, path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := replay.DescribeRemoved(fsx.OS, selfplay, filepath.ToSlash(rel), games)
		if err == nil {
			err = replay.Remove(fsx.OS, selfplay, []replay.RemovedFile{f})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := play(t, t.Context(), dir, 2, 4); err != nil || n != 4 || len(runtest.GamesOnDisk(t, dir)) != 0 {
		t.Errorf("all were played: %d games, %v, %v", n, err, runtest.GamesOnDisk(t, dir))
	}
	if n, err := play(t, t.Context(), dir, 2, 7); err != nil || n != 7 {
		t.Errorf("three more: %d games, %v", n, err)
	}
	again := runtest.GamesOnDisk(t, dir)
	for id := range again {
		if first[id] {
			t.Errorf("game %s was played twice", id)
		}
	}
	if len(again) != 3 {
		t.Errorf("%d games on disk, want 3", len(again))
	}
	if n, err := play(t, t.Context(), dir, 3, 2); err != nil || n != 2 || len(runtest.GamesOnDisk(t, dir)) != 5 {
		t.Errorf("another process: %d games, %v", n, err)
	}
}
