package bench

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
)

const (
	// phasePlies bounds the random play that stands for the games before a
	// measurement; it is far longer than a game.
	phasePlies = 1500
	// openingPlies is how many random plies a later game begins with, less one at most.
	openingPlies = 16
)

// phase sets h to a moment in the middle of games played by random moves one after
// the other: over many draws all phases of a game come as often as they take time.
// maxPlies ends a game that the rules do not.
func phase(h *chess.History, rng *rand.Rand, maxPlies int) {
	var moves chess.MoveList
	h.Reset(chess.StartBoard())
	for range rng.IntN(phasePlies) {
		push(h, rng, &moves)
		if overAt(h, &moves, maxPlies) {
			h.Reset(chess.StartBoard())
		}
	}
}

// opening sets h to a position a few random plies from the start.
func opening(h *chess.History, rng *rand.Rand) {
	var moves chess.MoveList
	h.Reset(chess.StartBoard())
	for range rng.IntN(openingPlies) {
		push(h, rng, &moves)
		if overAt(h, &moves, openingPlies) {
			h.Reset(chess.StartBoard())
		}
	}
}

// push plays a random move; the game is not over.
func push(h *chess.History, rng *rand.Rand, moves *chess.MoveList) {
	h.Board().GenerateMoves(moves)
	h.Push(moves.Moves[rng.IntN(moves.N)])
}

// overAt reports whether the game is over by the rules or after maxPlies.
func overAt(h *chess.History, moves *chess.MoveList, maxPlies int) bool {
	h.Board().GenerateMoves(moves)
	return h.Terminal(moves.N) != chess.NotOver || h.Len() > maxPlies
}
