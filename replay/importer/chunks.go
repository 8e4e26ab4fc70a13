package importer

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// maxRule50 is the highest count of plies that Leela's programs take: games end
// there for them.
const maxRule50 = 100

// putChunk writes a game as Leela's records, where that is asked for: one that is
// new to the directory always (the file of a killed import, which did not come to
// store its game, is replaced), else where it is missing.
func (im *Importer) putChunk(g *record.Game, fresh bool) error {
	if im.chunks == "" {
		return nil
	}
	path := filepath.Join(im.chunks, fmt.Sprintf("game_%06d.gz", g.Ordinal))
	if !fresh {
		if _, err := fsx.OS.Stat(path); err == nil {
			return nil
		}
	}
	var chunk bytes.Buffer
	if g.End != record.EndAborted && highestRule50(g) <= maxRule50 {
		if err := lc0.WriteChunk(&chunk, g); err != nil {
			return fmt.Errorf("game %d: %w", g.Ordinal, err)
		}
	}
	if chunk.Len() == 0 { // Leela's records cannot hold it, or it has no row to train on
		if fresh {
			im.report.NoChunk++
		}
		return nil
	}
	if err := fsx.WriteFile(fsx.OS, path, chunk.Bytes()); err != nil {
		return err
	}
	im.report.Chunks++
	return nil
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
