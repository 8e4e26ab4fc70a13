package syzygy

import "github.com/chessbrain/chessbrain/chess"

// RootMove is a legal move of a position that the tables know.
type RootMove struct {
	Move chess.Move
	DTZ  int  // of the position before the move if it is played, mover's view; 0 where it draws
	Rank int  // higher is better, see RankRoot; comparable within one position
	Kept bool // of the highest rank
}

// maxRank is the rank of a move that wins for sure within the 50-move rule; less
// what it may lack where the rule is in doubt, 0 for a draw, negative for losses.
const maxRank = 1 << 12

// RankRoot ranks the legal moves of the newest board of h by result and distance,
// with its counter of the 50-move rule and the repetitions of h taken into account:
// moves that keep the best result are Kept, and where the rule decides, only those
// with the best distance. A search of the kept moves cannot spoil the result. ok is
// false where the tables (results and distances) do not know all moves.
//
//   - A win within the rule has maxRank, unless a position of h has occurred before:
//     then, and where the rule is in doubt, maxRank - (DTZ + counter).
//   - A loss that the rule cannot save has -maxRank, else -maxRank + (-DTZ + counter),
//     so that the longest resistance is kept.
func (t *Tables) RankRoot(h *chess.History) (moves []RootMove, ok bool) {
	b := h.Board()
	if !t.may(b) {
		return nil, false
	}
	repeated := false
	for i := range h.Len() {
		repeated = repeated || h.Repetitions(i) > 0 && i >= h.Len()-1-b.Rule50()
	}
	line := chess.NewHistory(*b)
	line.CopyFrom(h)
	var list chess.MoveList
	b.GenerateMoves(&list)
	best := -maxRank
	for _, m := range list.Slice() {
		line.Push(m)
		child, d, ok := line.Board(), 0, true
		// Drawn by repetition or the 50-move rule, but by a mate.
		if child.Rule50() < 100 && line.Repetitions(line.Len()-1) < 2 || b.Mates(m) {
			d, ok = t.moveDistance(b, child, m, true)
		}
		line.Truncate(line.Len() - 1)
		if !ok {
			return nil, false
		}
		r := rank(d, b.Rule50(), repeated)
		best = max(best, r)
		moves = append(moves, RootMove{Move: m, DTZ: d, Rank: r})
	}
	for i := range moves {
		moves[i].Kept = moves[i].Rank == best
	}
	return moves, true
}

// rank orders a move by its distance and the counter before it.
func rank(dtz, counter int, repeated bool) int {
	switch {
	case dtz > 0 && dtz+counter <= 99 && !repeated:
		return maxRank
	case dtz > 0:
		return maxRank - (dtz + counter)
	case dtz < 0 && -2*dtz+counter < 100:
		return -maxRank
	case dtz < 0:
		return -maxRank + (-dtz + counter)
	}
	return 0
}
