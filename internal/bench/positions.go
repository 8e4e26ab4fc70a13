package bench

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

const (
	positionSeed = 1
	maxRandomPly = 80 // a position is 0 to maxRandomPly-1 plies from the start
)

// Positions returns n positions, with the line that led to them, from random
// legal play. The same seed gives the same positions; none of them is over.
func Positions(n int, seed uint64) []*chess.History {
	rng := rand.New(rand.NewPCG(seed, 0))
	lines := make([]*chess.History, n)
	for i := range lines {
		lines[i] = randomLine(rng)
	}
	return lines
}

// randomLine plays random moves until a ply drawn beforehand, again from the
// start where the game ends earlier.
func randomLine(rng *rand.Rand) *chess.History {
	h := chess.NewHistory(chess.StartBoard())
	var moves chess.MoveList
	plies := rng.IntN(maxRandomPly)
	for {
		h.Board().GenerateMoves(&moves)
		switch {
		case h.Terminal(moves.N) != chess.NotOver:
			h.Reset(chess.StartBoard())
		case h.Len() > plies:
			return h
		default:
			h.Push(moves.Moves[rng.IntN(moves.N)])
		}
	}
}

// inferenceBatch returns n positions, those of the thread.
func inferenceBatch(n, thread int) *encoding.Batch {
	return PositionBatch(n, positionSeed+uint64(thread))
}

// PositionBatch returns Positions as a batch.
func PositionBatch(n int, seed uint64) *encoding.Batch {
	b := encoding.NewBatch(n)
	var moves chess.MoveList
	for _, h := range Positions(n, seed) {
		h.Board().GenerateMoves(&moves)
		encoding.AppendPosition(b, h, &moves)
	}
	return b
}

// appendRows fills b with n training rows: real positions, random policy
// targets and results.
func appendRows(b *encoding.TrainBatch, n int) {
	rng := rand.New(rand.NewPCG(positionSeed, 1))
	var moves chess.MoveList
	for _, h := range Positions(n, positionSeed) {
		h.Board().GenerateMoves(&moves)
		row := encoding.AppendTrainPosition(b, h, &moves)
		policy, sum := b.PolicyOf(row), float32(0)
		for j := range policy {
			policy[j] = 1 + float32(rng.IntN(32))
			sum += policy[j]
		}
		for j := range policy {
			policy[j] /= sum
		}
		result := encoding.QDM{Q: float32(rng.IntN(3) - 1), M: float32(1 + rng.IntN(150))}
		if result.Q == 0 {
			result.D = 1
		}
		for t := range b.Targets[row] {
			b.Targets[row][t] = result
		}
	}
}

const (
	// phasePlies is how long a walk is at most that stands for the games before a
	// measurement, far longer than a game: over many of them all phases of a game come
	// as often as they take time.
	phasePlies = 1500
	// openingPlies is how many random plies a later game begins with, less one at most.
	openingPlies = 16
)

// walk sets h to the end of fewer than plies random moves, from the start again where a
// game is over. maxPlies ends a game that the rules do not.
func walk(h *chess.History, rng *rand.Rand, plies, maxPlies int) {
	var moves chess.MoveList
	h.Reset(chess.StartBoard())
	for range rng.IntN(plies) {
		h.Board().GenerateMoves(&moves)
		h.Push(moves.Moves[rng.IntN(moves.N)])
		if overAt(h, &moves, maxPlies) {
			h.Reset(chess.StartBoard())
		}
	}
}

// overAt reports whether the game is over by the rules or after maxPlies.
func overAt(h *chess.History, moves *chess.MoveList, maxPlies int) bool {
	h.Board().GenerateMoves(moves)
	return h.Terminal(moves.N) != chess.NotOver || h.Len() > maxPlies
}
