package exam

import (
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
)

// courseDraws: one start of a course in so many is drawn.
const courseDraws = 4

// StagedStarts returns up to n start positions as FENs, in the order in which
// they are to be played: a course. Each comes from an ending chosen at random,
// one in four is drawn, and the others are won or lost at a distance to mate
// drawn evenly from those up to a bound, which grows from mate in one to the
// ending's longest in the first three fifths of the course. So the net first
// learns what the last moves of a win look like, and then reaches those positions
// from farther and farther away. The solver chooses only where games begin; moves
// and values are the net's own. No start is held out, over, or there twice; both
// colours are the strong side about equally often.
func (t Tables) StagedStarts(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 4))
	stages := map[chess.PieceType][][]chess.Board{} // by distance in plies; 0 = drawn
	for _, p := range Pieces {
		stages[p] = make([][]chess.Board, t[p].Longest()+2)
		for pos := range t[p].All {
			if !HeldOut(&pos.Board) && !over(&pos.Board) {
				stages[p][pos.Plies] = append(stages[p][pos.Plies], pos.Board)
			}
		}
	}
	starts, used := make([]string, 0, n), map[string]bool{}
	for tries := 0; len(starts) < n && tries < 20*n; tries++ {
		ending := stages[Pieces[rng.IntN(len(Pieces))]]
		distance := 0
		if rng.IntN(courseDraws) > 0 {
			longest := len(ending) - 1
			grown := 2 + (longest-2)*len(starts)*5/(3*n) // all of it after 3/5 of the course
			distance = 1 + rng.IntN(min(grown, longest))
		}
		if len(ending[distance]) == 0 {
			continue
		}
		board := ending[distance][rng.IntN(len(ending[distance]))]
		if rng.IntN(2) == 1 {
			board = recolour(&board)
		}
		if fen := board.FEN(); !used[fen] {
			used[fen] = true
			starts = append(starts, fen)
		}
	}
	return starts
}
