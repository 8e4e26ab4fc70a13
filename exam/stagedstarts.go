package exam

import (
	"math/rand/v2"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
)

// drawShare is the share of drawn positions among staged starts.
const drawShare = 4

// StagedStarts returns about n different positions as FENs, not held out and
// not over, a third from each ending: a quarter of them drawn, the others spread
// evenly over the distances to mate, either side to move. Games that begin one
// or two moves from mate teach what a won position is, those a little farther
// away reach them, and so on: a staged course. The games and their values are
// still the net's own; the solver only chooses where they begin.
func (t Tables) StagedStarts(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 4))
	var all []string
	for _, p := range Pieces {
		stages := map[int][]chess.Board{} // by distance; 0 = drawn
		for pos := range t[p].All {
			if !HeldOut(&pos.Board) && !over(&pos.Board) {
				stages[pos.Plies] = append(stages[pos.Plies], pos.Board)
			}
		}
		share := n / len(Pieces)
		add := func(boards []chess.Board, want int) {
			rng.Shuffle(len(boards), func(i, j int) { boards[i], boards[j] = boards[j], boards[i] })
			for i := range min(want, len(boards)) {
				all = append(all, asColour(&boards[i], i%2 == 1))
			}
		}
		add(stages[0], share/drawShare)
		delete(stages, 0)
		distances := make([]int, 0, len(stages))
		for d := range stages {
			distances = append(distances, d)
		}
		slices.Sort(distances)
		for _, d := range distances {
			add(stages[d], (share-share/drawShare)/len(distances))
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
