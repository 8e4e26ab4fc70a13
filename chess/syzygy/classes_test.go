package syzygy

import (
	"runtime"
	"sync"

	"github.com/chessbrain/chessbrain/chess"
)

// waves are classes to be solved, by rank: men and, among as many men, pawns. A
// capture leads to fewer men and a promotion to fewer pawns, so that the classes of
// a wave depend on earlier waves only.
type waves [maxSolve + 1][maxSolve - 1][]material

// need adds a class and those that it depends on, unless they are there.
func (e *Endgames) need(w *waves, men material) {
	if strength(men[0]) < strength(men[1]) {
		men = men.swapped()
	}
	if men.men() == 2 || e.solved[men.key()] != nil {
		return
	}
	e.newEnding(men)
	wave := &w[men.men()][men[0][chess.Pawn]+men[1][chess.Pawn]]
	*wave = append(*wave, men)
	for side := range men {
		for pt := range men[side] {
			if men[side][pt] == 0 {
				continue
			}
			less := men
			less[side][pt]--
			e.need(w, less)
			for promoted := chess.Knight; pt == int(chess.Pawn) && promoted <= chess.Queen; promoted++ {
				other := less
				other[side][promoted]++
				e.need(w, other)
			}
		}
	}
}

// solve solves the waves, the classes of one side by side.
func (e *Endgames) solve(w *waves) {
	for _, byPawns := range w {
		for _, wave := range byPawns {
			var wait sync.WaitGroup
			next := make(chan material, len(wave))
			for _, men := range wave {
				next <- men
			}
			close(next)
			for range min(len(wave), runtime.GOMAXPROCS(0)) {
				wait.Go(func() {
					for men := range next {
						e.solveClass(men)
					}
				})
			}
			wait.Wait()
		}
	}
}

// solveClass fills a class whose dependencies are filled.
func (e *Endgames) solveClass(men material) {
	t := e.solved[men.key()]
	r := &retro{ending: t, all: e, open: make([]uint8, len(t.values))}
	for _, placements := range t.squares() {
		r.forward(placements)
		r.backward()
	}
	for _, v := range t.values {
		t.longest = max(t.longest, int(v))
	}
	e.solved[men.swapped().key()].longest = t.longest
}

// newEnding enters a class under both orders of the sides, all cells illegal.
func (e *Endgames) newEnding(men material) *ending {
	t := &ending{men: men, setup: men.setup(), pawns: men.hasPawns(), kings: 16}
	if t.pawns {
		t.kings = 32
	}
	t.values = make([]int16, 2*t.kings<<6<<(6*(t.n-2)))
	for i := range t.values {
		t.values[i] = valueIllegal
	}
	e.solved[men.key()] = t
	if men != men.swapped() {
		other := *t
		other.turned = true
		e.solved[men.swapped().key()] = &other
	}
	return t
}

// strength orders sides: more men first, then the stronger ones.
func strength(side [chess.King]uint8) int {
	sum := 0
	for pt, n := range side {
		sum += int(n) * (1000 + 1<<(2*pt))
	}
	return sum
}

// squares returns the squares of the men but the kings, [steps that the pawns have
// left][][men], those with pawns on outer ranks or two men on a square left out.
func (t *ending) squares() [][][2]uint8 {
	groups := make([][][2]uint8, 1)
	for a := range uint8(64) {
		for b := range uint8(64) {
			if t.n == 3 && b > 0 {
				break
			}
			steps, ok := t.stepsLeft(2, a)
			if t.n == 4 {
				more, also := t.stepsLeft(3, b)
				steps, ok = steps+more, ok && also && a != b
			}
			if !ok {
				continue
			}
			for len(groups) <= steps {
				groups = append(groups, nil)
			}
			groups[steps] = append(groups[steps], [2]uint8{a, b})
		}
	}
	return groups
}

// stepsLeft returns the single steps of man i to promotion, 0 if it is no pawn; ok
// is false for a pawn on an outer rank.
func (t *ending) stepsLeft(i int, sq uint8) (steps int, ok bool) {
	if t.kind[i] != chess.Pawn {
		return 0, true
	}
	steps = int(sq >> 3)
	if t.side[i] == 0 {
		steps = 7 - steps
	}
	return steps, steps > 0 && steps < 7
}
