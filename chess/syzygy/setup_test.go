package syzygy

import (
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
)

// The solver's own view of the rules, for positions of up to four men: it moves
// men in both directions of time and numbers positions. Package chess is not
// asked, so that each is a check of the other.

// maxSolve is the number of men of the largest endings that the solver takes.
const maxSolve = 4

// setup is a position of few men. Men 0 and 1 are the kings of the sides 0 and
// 1. Side 0 walks up the board, squares are a1 = 0 to h8 = 63.
type setup struct {
	n     int // men
	mover uint8
	side  [maxSolve]uint8
	kind  [maxSolve]chess.PieceType
	sq    [maxSolve]uint8
}

// retroMove is a move of one man; taken is the man taken, -1 for none.
type retroMove struct {
	man, taken int8
	to         uint8
	promoted   chess.PieceType // NoPiece for none
}

// zeroing says whether the move resets the counter of the 50-move rule.
func (m retroMove) zeroing(s *setup) bool { return m.taken >= 0 || s.kind[m.man] == chess.Pawn }

// attackTables are the squares attacked on an empty board: by a king, a knight,
// a pawn of each side, and along the eight rays of a slider, [direction][square].
var attackTables = makeAttacks()

type attacks struct {
	king, knight [64]uint64
	pawn         [2][64]uint64
	rays         [8][64]uint64 // rising directions first: E, N, NE, NW, then W, S, SW, SE
}

func makeAttacks() *attacks {
	a := &attacks{}
	step := func(sq, file, rank int) (uint64, int) {
		f, r := sq&7+file, sq>>3+rank
		if f < 0 || f > 7 || r < 0 || r > 7 {
			return 0, -1
		}
		return 1 << (r*8 + f), r*8 + f
	}
	leaps := func(sq int, table [][2]int) (set uint64) {
		for _, d := range table {
			bit, _ := step(sq, d[0], d[1])
			set |= bit
		}
		return set
	}
	rays := [8][2]int{{1, 0}, {0, 1}, {1, 1}, {-1, 1}, {-1, 0}, {0, -1}, {-1, -1}, {1, -1}}
	for sq := range 64 {
		a.king[sq] = leaps(sq, rays[:])
		a.knight[sq] = leaps(sq, [][2]int{{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}})
		a.pawn[0][sq] = leaps(sq, [][2]int{{-1, 1}, {1, 1}})
		a.pawn[1][sq] = leaps(sq, [][2]int{{-1, -1}, {1, -1}})
		for d, dir := range rays {
			for bit, at := step(sq, dir[0], dir[1]); at >= 0; bit, at = step(at, dir[0], dir[1]) {
				a.rays[d][sq] |= bit
			}
		}
	}
	return a
}

// attackSet returns the squares that a man attacks.
func attackSet(kind chess.PieceType, side, sq uint8, occupied uint64) uint64 {
	a := attackTables
	sq &= 63
	switch kind {
	case chess.King:
		return a.king[sq]
	case chess.Knight:
		return a.knight[sq]
	case chess.Pawn:
		return a.pawn[side&1][sq]
	case chess.Rook:
		return slide(sq, occupied, 0, 2)
	case chess.Bishop:
		return slide(sq, occupied, 2, 4)
	}
	return slide(sq, occupied, 0, 4)
}

// slide returns the squares along the rays from..to and their opposites, up to
// the first man.
func slide(sq uint8, occupied uint64, from, to int) (set uint64) {
	for d := from; d < to; d++ {
		up := attackTables.rays[d][sq]
		if hit := up & occupied; hit != 0 {
			up &^= attackTables.rays[d][bits.TrailingZeros64(hit)]
		}
		down := attackTables.rays[d+4][sq]
		if hit := down & occupied; hit != 0 {
			down &^= attackTables.rays[d+4][63-bits.LeadingZeros64(hit)]
		}
		set |= up | down
	}
	return set
}

// occupied returns the squares of the men of each side.
func (s *setup) occupied() (men [2]uint64) {
	for i := range s.n {
		men[s.side[i]&1] |= 1 << (s.sq[i] & 63)
	}
	return men
}

// attacked says whether the king of a side is attacked; the man without, if not
// negative, is taken as absent.
func (s *setup) attacked(side uint8, without int8, occupied uint64) bool {
	king := uint64(1) << (s.sq[side&1] & 63)
	for i := range s.n {
		if s.side[i] != side && int8(i) != without && attackSet(s.kind[i], s.side[i], s.sq[i], occupied)&king != 0 {
			return true
		}
	}
	return false
}

// legal says whether the men stand on different squares, no pawn on an outer
// rank, and the side not to move is not in check.
func (s *setup) legal() bool {
	var all uint64
	for i := range s.n {
		bit := uint64(1) << (s.sq[i] & 63)
		if all&bit != 0 || s.kind[i] == chess.Pawn && (s.sq[i] < 8 || s.sq[i] > 55) {
			return false
		}
		all |= bit
	}
	return !s.attacked(s.mover^1, -1, all)
}

// moves writes the legal moves but en passant to list and returns their number.
func (s *setup) moves(list *[128]retroMove) int {
	men := s.occupied()
	all := men[0] | men[1]
	n := 0
	for i := range s.n {
		if s.side[i] != s.mover {
			continue
		}
		from := s.sq[i]
		without := all &^ (1 << (from & 63))
		targets := attackSet(s.kind[i], s.side[i], from, all) &^ men[s.mover&1]
		safe := true
		switch s.kind[i] {
		case chess.King:
			targets &^= s.danger(without)
		case chess.Pawn:
			targets = targets&men[s.mover&1^1] | pawnSteps(s.mover, from, all)
			fallthrough
		default:
			safe = !s.attacked(s.mover, -1, without) // no pin, no check: nothing else to test
		}
		for ; targets != 0; targets &= targets - 1 {
			m := retroMove{man: int8(i), taken: -1, to: uint8(bits.TrailingZeros64(targets)), promoted: chess.NoPiece}
			if all>>m.to&1 != 0 {
				m.taken = s.manOn(m.to)
			}
			if safe || !s.attacked(s.mover, m.taken, without|1<<m.to) {
				n = s.write(list, n, m)
			}
		}
	}
	return n
}

// danger returns the squares that the side not to move attacks.
func (s *setup) danger(occupied uint64) (set uint64) {
	for i := range s.n {
		if s.side[i] != s.mover {
			set |= attackSet(s.kind[i], s.side[i], s.sq[i], occupied)
		}
	}
	return set
}

// write adds a move to the list, on the last rank one for each promotion.
func (s *setup) write(list *[128]retroMove, n int, m retroMove) int {
	if s.kind[m.man] != chess.Pawn || m.to >= 8 && m.to <= 55 {
		list[n] = m
		return n + 1
	}
	for m.promoted = chess.Knight; m.promoted <= chess.Queen; m.promoted++ {
		list[n] = m
		n++
	}
	return n
}

// pawnSteps returns the squares that a pawn may step to.
func pawnSteps(side, from uint8, all uint64) uint64 {
	bit := uint64(1) << (from & 63)
	if side == 0 {
		one := bit << 8 &^ all
		return one | one<<8&^all&(0xff<<24)
	}
	one := bit >> 8 &^ all
	return one | one>>8&^all&(0xff<<32)
}

// manOn returns the man on a square, -1 where there is none.
func (s *setup) manOn(sq uint8) int8 {
	for i := range s.n {
		if s.sq[i] == sq {
			return int8(i)
		}
	}
	return -1
}

// after returns the position after a move.
func (s *setup) after(m retroMove) setup {
	c := *s
	c.sq[m.man] = m.to
	if m.promoted != chess.NoPiece {
		c.kind[m.man] = m.promoted
	}
	c.mover ^= 1
	if m.taken >= 0 {
		c.remove(int(m.taken))
	}
	return c
}

// remove takes a man, no king, off the board.
func (s *setup) remove(i int) {
	s.n--
	s.side[i], s.kind[i], s.sq[i] = s.side[s.n], s.kind[s.n], s.sq[s.n]
}

// turned returns the position with the sides exchanged and the ranks mirrored.
func (s *setup) turned() setup {
	c := *s
	for i := range c.n {
		c.side[i] ^= 1
		c.sq[i] ^= 56
	}
	c.side[0], c.side[1] = 0, 1
	c.sq[0], c.sq[1] = c.sq[1], c.sq[0]
	c.mover ^= 1
	return c
}

// enPassant returns the position after taking the pawn that has just made a
// double step with man i, and whether that is legal.
func (s *setup) enPassant(i int, pawn int8) (setup, bool) {
	behind := s.sq[pawn] + 8 // of the side 0 to move; the pawn went down
	if s.mover == 1 {
		behind = s.sq[pawn] - 8
	}
	file := int(s.sq[i]&7) - int(s.sq[pawn]&7)
	if s.kind[i] != chess.Pawn || s.side[i] != s.mover || s.sq[i]>>3 != s.sq[pawn]>>3 || file*file != 1 {
		return setup{}, false
	}
	c := s.after(retroMove{man: int8(i), taken: pawn, to: behind, promoted: chess.NoPiece})
	men := c.occupied()
	return c, !c.attacked(s.mover, -1, men[0]|men[1])
}
