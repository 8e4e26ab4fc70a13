package importer

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/record"
)

// chunkDir is a directory of games as Leela's chunks, game_<ordinal>.gz.
type chunkDir struct {
	fsys  fsx.FS
	dir   string
	there map[string]bool // file names at the start
}

func openChunkDir(fsys fsx.FS, dir string) (*chunkDir, error) {
	if err := fsx.MkdirAll(fsys, dir); err != nil {
		return nil, fmt.Errorf("make directory of Leela chunks: %w", err)
	}
	if err := fsx.RemoveTemps(fsys, dir, ""); err != nil {
		return nil, fmt.Errorf("clean directory of Leela chunks: %w", err)
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read directory of Leela chunks: %w", err)
	}
	c := &chunkDir{fsys: fsys, dir: dir, there: map[string]bool{}}
	for _, e := range entries {
		c.there[e.Name()] = true
	}
	return c, nil
}

// maxRule50 is the highest count of plies that Leela's programs take: games end
// there for them.
const maxRule50 = 100

// put writes the chunk of a game: of one that is new to the directory always
// (the file of a killed import, which did not come to store its game, is
// replaced), else where it is missing. possible is false for a game that Leela's
// records cannot hold.
func (c *chunkDir) put(g *record.Game, fresh bool) (written, possible bool, err error) {
	name := fmt.Sprintf("game_%06d.gz", g.Ordinal)
	if g.End == record.EndAborted || highestRule50(g) > maxRule50 {
		return false, false, nil
	}
	if !fresh && c.there[name] {
		return false, true, nil
	}
	var chunk bytes.Buffer
	if err := lc0.WriteChunk(&chunk, g); err != nil {
		return false, true, fmt.Errorf("game %d: %w", g.Ordinal, err)
	}
	if chunk.Len() == 0 { // no row to train on
		return false, false, nil
	}
	if err := fsx.WriteFile(c.fsys, filepath.Join(c.dir, name), chunk.Bytes()); err != nil {
		return false, true, err
	}
	return true, true, nil
}

// highestRule50 returns the largest rule50 count of g's positions with a move.
func highestRule50(g *record.Game) int {
	b, err := g.StartBoard()
	if err != nil {
		return 0
	}
	highest := 0
	for i := range g.Plies {
		highest = max(highest, b.Rule50())
		b.Make(g.Plies[i].Move)
	}
	return highest
}
