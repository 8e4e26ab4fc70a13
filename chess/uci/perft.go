package uci

import (
	"context"

	"github.com/chessbrain/chessbrain/chess"
)

// perftSlice is the depth in plies that is counted without a look at stop: ten
// million leaves at most, in a position with as many moves as there can be.
const perftSlice = 3

// perft counts the leaves of the legal-move tree, move by move, as far as ctx
// lets it.
func (e *Engine) perft(ctx context.Context, depth int) {
	var list chess.MoveList
	board := e.line.Board()
	board.GenerateMoves(&list)
	sum := uint64(0)
	for _, m := range list.Slice() {
		child := *board
		child.Make(m)
		nodes := perft(ctx, &child, depth-1)
		if ctx.Err() != nil {
			e.say("info string perft was stopped")
			return
		}
		e.say("%s: %d", board.UCI(m, e.settings.chess960), nodes)
		sum += nodes
	}
	e.say("Nodes searched: %d", sum)
}

// perft is chess.Perft that ends soon after ctx does, with a count that is wrong.
func perft(ctx context.Context, b *chess.Board, depth int) uint64 {
	if depth <= perftSlice {
		return chess.Perft(b, depth)
	}
	var list chess.MoveList
	b.GenerateMoves(&list)
	sum := uint64(0)
	for _, m := range list.Slice() {
		if ctx.Err() != nil {
			return 0
		}
		child := *b
		child.Make(m)
		sum += perft(ctx, &child, depth-1)
	}
	return sum
}
