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

// Position is one of a game.
type Position struct {
	Game *record.Game
	Ply  int
}

// DrawPositions draws n positions (all, where there are fewer) from the games of the run
// directory at root, each with the same chance. The same games and seed give the same
// positions.
func DrawPositions(ctx context.Context, root string, n int, seed uint64) ([]Position, error) {
	dir, _, err := OpenDir(root)
	if err != nil {
		return nil, err
	}
	var drawn []Position // a reservoir
	rng, seen := rand.New(rand.NewPCG(seed, 0)), 0
	if _, err := replay.WalkGames(ctx, fsx.OS, dir.Selfplay(), func(_ string, g *record.Game) error {
		for ply := range g.Plies {
			seen++
			if p := (Position{g, ply}); len(drawn) < n {
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
	return drawn, nil
}

// RowsOf returns the training rows of positions; shortTerm is theta of their short-term
// targets.
func RowsOf(drawn []Position, shortTerm float64) (*encoding.TrainBatch, error) {
	rows, replayer := encoding.NewTrainBatch(len(drawn)), record.Replayer{ShortTerm: shortTerm}
	for _, p := range drawn {
		if err := replayer.AppendRow(rows, p.Game, p.Ply); err != nil {
			return nil, fmt.Errorf("draw positions: game %x: %w", p.Game.ID, err)
		}
	}
	return rows, nil
}

// Positions is DrawPositions as a net's input.
func Positions(ctx context.Context, root string, n int, seed uint64) (*encoding.Batch, error) {
	drawn, err := DrawPositions(ctx, root, n, seed)
	if err != nil {
		return nil, err
	}
	rows, err := RowsOf(drawn, 0)
	if err != nil {
		return nil, err
	}
	return &rows.Batch, nil
}
