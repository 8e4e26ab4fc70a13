package syzygy

import (
	"cmp"
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
)

// The solver works backwards from positions whose value is known. In a class with
// pawns it goes by the number of steps that the pawns have left: a pawn move,
// capture or promotion leads to what is solved already and sets the counter of the
// 50-move rule to 0, so that such moves are looked up once; all other moves stay
// within the same pawn squares and are followed backwards from distance to distance.

// neverLost is a count of open moves that is not counted down.
const neverLost = 255

// retro is a class under construction.
type retro struct {
	*ending
	all    *Endgames
	open   []uint8   // [cells] quiet moves not yet known to lose, or neverLost
	levels [][]int32 // cells by distance, to be followed back
	cursed []int32   // cells with a zeroing move to a cursed win
	held   []int32   // cells whose open has 1 for zeroing moves to a blessed loss
}

// forward values, for each placement of the other men, mates, positions decided by
// zeroing moves, and counts the quiet moves of the rest.
func (r *retro) forward(placements [][2]uint8) {
	var list [128]retroMove
	for _, at := range placements {
		for mover := range uint8(2) {
			s := r.setup
			s.mover = mover
			copy(s.sq[2:], at[:s.n-2])
			for king := range uint8(r.kings) {
				s.sq[0] = king>>2<<3 | king&3
				for s.sq[1] = range uint8(64) {
					r.value(&s, &list)
				}
			}
		}
	}
}

// value is forward for one position.
func (r *retro) value(s *setup, list *[128]retroMove) {
	cell := int32(r.index(s))
	if !s.legal() {
		return
	}
	r.values[cell] = valueDraw
	n := s.moves(list)
	if n == 0 {
		r.noMoves(cell, s)
		return
	}
	quiet, best := 0, Loss-1
	for _, m := range list[:n] {
		if !m.zeroing(s) {
			quiet++
			continue
		}
		best = max(best, -result(r.afterZeroing(s, m)))
	}
	r.open[cell] = uint8(quiet)
	switch best {
	case Win:
		r.decide(cell, 1, true)
	case CursedWin:
		r.open[cell] = neverLost
		r.cursed = append(r.cursed, cell)
	case Draw:
		r.open[cell] = neverLost
	case BlessedLoss:
		r.open[cell]++
		r.held = append(r.held, cell)
	case Loss:
		if quiet == 0 {
			r.decide(cell, 1, false)
		}
	}
}

// noMoves values a mate or stalemate.
func (r *retro) noMoves(cell int32, s *setup) {
	men := s.occupied()
	if s.attacked(s.mover, -1, men[0]|men[1]) {
		r.decide(cell, 0, false)
	}
}

// afterZeroing returns the value after a capture or pawn move, for the side then
// to move.
func (r *retro) afterZeroing(s *setup, m retroMove) int16 {
	c := s.after(m)
	v, ok := r.all.lookup(&c)
	if !ok || v == valueIllegal {
		panic("syzygy: an ending was solved before those it depends on")
	}
	if from := s.sq[m.man]; s.kind[m.man] == chess.Pawn && (m.to == from+16 || m.to+16 == from) {
		v = r.all.withEnPassant(&c, m.man, v)
	}
	return v
}

// withEnPassant returns the value of a position where a pawn has just made a double
// step, given its value v without en passant.
func (e *Endgames) withEnPassant(s *setup, pawn int8, v int16) int16 {
	taking, found := valueIllegal, false
	for i := 2; i < s.n; i++ {
		c, ok := s.enPassant(i, pawn)
		if !ok {
			continue
		}
		after, _ := e.lookup(&c)
		if mine := zeroingValue(-result(after)); !found || preferable(mine, taking) > 0 {
			taking, found = mine, true
		}
	}
	if !found {
		return v
	}
	var list [128]retroMove
	if s.moves(&list) == 0 || preferable(taking, v) > 0 {
		return taking
	}
	return v
}

// zeroingValue is the value where a zeroing move with a result is played at once.
func zeroingValue(wdl int) int16 {
	switch d := int16(atZeroing(wdl)); {
	case d < 0:
		return d - 1
	default:
		return d
	}
}

// preferable compares two values for the side to move: wins before draws before
// losses, early wins and late losses first.
func preferable(a, b int16) int {
	rank := func(v int16) int {
		switch {
		case v > 0:
			return 1<<16 - int(v)
		case v < 0:
			return -1<<16 - int(v)
		}
		return 0
	}
	return cmp.Compare(rank(a), rank(b))
}

// decide gives a cell its value and queues it.
func (r *retro) decide(cell int32, plies int, win bool) {
	r.values[cell] = int16(plies)
	if !win {
		r.values[cell] = int16(-plies - 1)
	}
	for len(r.levels) <= plies {
		r.levels = append(r.levels, nil)
	}
	r.levels[plies] = append(r.levels[plies], cell)
}

// backward follows decided cells back, distance by distance. At 101 plies those
// join that are only won or lost by zeroing moves beyond the 50-move rule.
func (r *retro) backward() {
	for plies := 0; plies < len(r.levels) || plies <= 100 && len(r.cursed)+len(r.held) > 0; plies++ {
		if plies < len(r.levels) {
			for _, cell := range r.levels[plies] {
				r.followBack(cell, plies)
			}
			r.levels[plies] = nil
		}
		if plies == 100 {
			for _, cell := range r.cursed {
				if r.values[cell] == valueDraw {
					r.decide(cell, 101, true)
				}
			}
			for _, cell := range r.held {
				r.countDown(cell, 101)
			}
			r.cursed, r.held = nil, nil
		}
	}
	r.levels = nil
}

// followBack values what a decided cell decides one ply earlier.
func (r *retro) followBack(cell int32, plies int) {
	lost := r.values[cell] < 0
	s := r.place(int(cell))
	men := s.occupied()
	all := men[0] | men[1]
	s.mover ^= 1
	for i := range s.n {
		if s.side[i] != s.mover || s.kind[i] == chess.Pawn {
			continue
		}
		to := s.sq[i]
		from := attackSet(s.kind[i], s.side[i], to, all) &^ all
		for ; from != 0; from &= from - 1 {
			s.sq[i] = uint8(bits.TrailingZeros64(from))
			before := int32(r.index(&s))
			switch {
			case r.values[before] != valueDraw: // decided earlier, or illegal
			case lost:
				r.decide(before, plies+1, true)
			default:
				r.countDown(before, plies+1)
			}
		}
		s.sq[i] = to
	}
}

// countDown takes one open move off a cell; where it was the last, all lose.
func (r *retro) countDown(cell int32, plies int) {
	if r.values[cell] != valueDraw || r.open[cell] == neverLost {
		return
	}
	if r.open[cell]--; r.open[cell] == 0 {
		r.decide(cell, plies, false)
	}
}
