package sample

import "github.com/chessbrain/chessbrain/plugins/stage"

const uniformDoc = "draws rows independently, each in proportion to its weight"

// uniform draws rows independently, with replacement, each with a probability
// proportional to its weight; a row that was drawn counts 1 in the loss.
// O(log n) a row.
type uniform struct{ generator }

// NewUniform returns the sampler uniform.
func NewUniform() stage.Sampler { return function{uniform{newGenerator()}} }

func (uniform) Name() string { return "uniform" }

func (u uniform) draw(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
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
