package setup

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// Positions draws n positions (all, where there are fewer) from the games of the
// run directory at root, each with the same chance. The same games and seed give
// the same positions.
func Positions(ctx context.Context, root string, n int, seed uint64) (*encoding.Batch, error) {
	dir, _, err := OpenDir(root)
	if err != nil {
		return nil, err
	}
	type position struct {
		game *record.Game
		ply  int
	}
	var drawn []position // a reservoir
	rng, seen := rand.New(rand.NewPCG(seed, 0)), 0
	if _, err := replay.WalkGames(ctx, fsx.OS, dir.Selfplay(), func(_ string, g *record.Game) error {
		for ply := range g.Plies {
			seen++
			if p := (position{g, ply}); len(drawn) < n {
				drawn = append(drawn, p)
			} else if k := rng.IntN(seen); k < n {
				drawn[k] = p
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("draw positions: %w", err)
	}
	if seen == 0 {
		return nil, fmt.Errorf("draw positions: no game in %s", dir.Selfplay())
	}
	rows, replayer := encoding.NewTrainBatch(len(drawn)), record.Replayer{}
	for _, p := range drawn {
		if err := replayer.AppendRow(rows, p.game, p.ply); err != nil {
			return nil, fmt.Errorf("draw positions: game %x: %w", p.game.ID, err)
		}
	}
	return &rows.Batch, nil
}
