package sample

import (
	"context"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

const uniformDoc = "draws rows independently, each in proportion to its weight"

// Uniform draws rows independently, with replacement, each with a probability
// proportional to its weight; a row that was drawn counts 1 in the loss.
// O(log n) a row.
type Uniform struct{ generator }

// NewUniform returns a sampler seeded with (0, 0).
func NewUniform() *Uniform { return &Uniform{newGenerator()} }

// Name returns "uniform".
func (u *Uniform) Name() string { return "uniform" }

// Sample appends n rows of idx to dst. ErrNoRows if idx is empty.
func (u *Uniform) Sample(ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	sum := idx.WeightSum()
	if sum == 0 {
		return dst, ErrNoRows
	}
	for range n {
		game, ply := idx.RowAt(u.rng.Uint64N(sum))
		dst = append(dst, stage.RowRef{Game: game, Ply: ply, Weight: 1})
	}
	return dst, nil
}

const uniformVersion = 1

// Section is the state of the random generator.
func (u *Uniform) Section() stage.Section { return u.section("uniform", uniformVersion) }
