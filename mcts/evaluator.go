package mcts

import (
	"context"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Evaluator answers a batch of positions: it fills Prior, WDL and M. nn/cpu
// satisfies it. An Evaluator is used by one goroutine at a time.
type Evaluator interface {
	Evaluate(ctx context.Context, b *encoding.Batch) error
}

// Prober looks a position up in endgame tables. wdl is +1 win, 0 draw, -1 loss
// for the side to move, valid only if ok. It is asked only about positions
// with rule50 = 0 and no castling rights.
type Prober interface {
	Probe(b *chess.Board) (wdl int, ok bool)
}

// NewBatch returns a batch with room for capacity positions in the format that ev takes:
// what its method InputFormat says, if it has one, else format 1.
func NewBatch(ev Evaluator, capacity int) *encoding.Batch {
	b := encoding.NewBatch(capacity)
	if e, ok := ev.(interface{ InputFormat() encoding.InputFormat }); ok {
		b.Format = e.InputFormat()
	}
	return b
}
