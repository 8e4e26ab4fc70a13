package arena

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
)

// Greedy returns a fixed player that looks two plies ahead. Where one of its
// moves mates it plays the first of these (in generation order). Else a move's
// score is
//
//	gain(move) - max(0, gain of each legal answer)
//
// where the gain of a move is the value of the man it takes (pawn 1, knight and
// bishop 3, rook 5, queen 9; en passant takes a pawn) plus, for a promotion, the
// value of the new man less one. It plays a move with the highest score, each
// of several with the same probability. It knows nothing of defended men,
// answers to answers, checks, stalemate or draws.
func Greedy() Player { return &chooser{"greedy", greedyMove} }

// greedyMove returns the greedy player's move.
func greedyMove(b *chess.Board, legal *chess.MoveList, rng *rand.Rand) chess.Move {
	var answers, best chess.MoveList
	high := 0
	for _, m := range legal.Slice() {
		child := *b
		child.Make(m)
		child.GenerateMoves(&answers)
		if answers.N == 0 && child.InCheck() {
			return m
		}
		loss := 0
		for _, a := range answers.Slice() {
			loss = max(loss, gain(&child, a))
		}
		score := gain(b, m) - loss
		if best.N == 0 || score > high {
			best.N, high = 0, score
		}
		if score == high {
			best.Moves[best.N] = m
			best.N++
		}
	}
	return best.Moves[rng.IntN(best.N)]
}

// gain returns the material that a legal move wins, in pawns.
func gain(b *chess.Board, m chess.Move) int {
	won := 0
	if b.IsCapture(m) {
		taken, ours := b.PieceAt(m.To())
		if taken == chess.NoPiece || ours { // en passant: the field is empty
			taken = chess.Pawn
		}
		won = chess.PieceValue[taken]
	}
	if p := m.Promotion(); p != chess.NoPiece {
		won += chess.PieceValue[p] - chess.PieceValue[chess.Pawn]
	}
	return won
}

// matesInOne reports whether one of the legal moves mates.
func matesInOne(b *chess.Board, legal *chess.MoveList) bool {
	var answers chess.MoveList
	for _, m := range legal.Slice() {
		child := *b
		child.Make(m)
		if !child.InCheck() {
			continue
		}
		if child.GenerateMoves(&answers); answers.N == 0 {
			return true
		}
	}
	return false
}
