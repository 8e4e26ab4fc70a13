package syzygy

import (
	"fmt"
	"iter"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
)

// Solved is a position with its value for the side to move.
type Solved struct {
	Board chess.Board
	WDL   int // Loss to Win
	DTZ   int // as DTZ returns it, exact
}

// All yields every legal position of a solved ending, in a fixed order, once up to
// symmetry (colours, mirror images, like men exchanged; those with both kings on a
// long diagonal may appear twice), those with a possible en-passant capture
// included. White and black take turns as the side named first. Nothing is yielded
// for an ending that is not solved.
func (e *Endgames) All(name string) iter.Seq[Solved] {
	return func(yield func(Solved) bool) {
		men, err := parseMaterial(name)
		if err != nil || men.men() > maxSolve || e.solved[men.key()] == nil {
			return
		}
		t := e.solved[men.key()]
		for i, v := range t.values {
			s := t.place(i)
			if v == valueIllegal || t.repeated(&s) {
				continue
			}
			if !yield(solvedAt(&s, i, -1, v)) {
				return
			}
			for _, pawn := range s.doubleSteps() {
				if !yield(solvedAt(&s, i, pawn, e.withEnPassant(&s, int8(pawn), v))) {
					return
				}
			}
		}
	}
}

// repeated says whether a cell is the image of another one that is yielded: below
// the diagonal, like men in falling order, or the other side to move of a class
// with equal sides.
func (t *ending) repeated(s *setup) bool {
	return !t.pawns && offDiagonal(s.sq[0]) > 0 ||
		s.n == 4 && s.kind[2] == s.kind[3] && s.side[2] == s.side[3] && s.sq[2] > s.sq[3] ||
		t.men == t.men.swapped() && s.mover == 1
}

// doubleSteps returns the pawns of the side not to move that may just have made a
// double step, beside a pawn of the mover.
func (s *setup) doubleSteps() (pawns []int) {
	men := s.occupied()
	all := men[0] | men[1]
	for i := 2; i < s.n; i++ {
		sq := s.sq[i]
		if s.kind[i] != chess.Pawn || s.side[i] == s.mover {
			continue
		}
		rank, behind := uint8(4), uint64(1)<<(sq+8&63)|uint64(1)<<(sq+16&63)
		if s.mover == 1 {
			rank, behind = 3, uint64(1)<<(sq-8&63)|uint64(1)<<(sq-16&63)
		}
		if sq>>3 != rank || all&behind != 0 {
			continue
		}
		for j := 2; j < s.n; j++ {
			file := int(s.sq[j]&7) - int(sq&7)
			if s.kind[j] == chess.Pawn && s.side[j] == s.mover && s.sq[j]>>3 == rank && file*file == 1 {
				pawns = append(pawns, i)
			}
		}
	}
	return pawns
}

// solvedAt makes a board; pawn is the one that has just made a double step, or
// negative. With an odd cell black is side 0.
func solvedAt(s *setup, cell, pawn int, v int16) Solved {
	fen := s.fen(cell&1 == 1, pawn)
	b, err := chess.ParseFEN(fen)
	if err != nil {
		panic(fmt.Sprintf("syzygy: %s: %v", fen, err)) // the solver took it as legal
	}
	return Solved{b, result(v), distanceOf(v)}
}

// fen writes the position, side 0 being black where turned is true.
func (s *setup) fen(turned bool, pawn int) string {
	var board [64]byte
	flip, black := uint8(0), uint8(1)
	if turned {
		flip, black = 56, 0
	}
	for i := range s.n {
		letter := "PNBRQK"[s.kind[i]]
		if s.side[i] == black {
			letter |= 0x20
		}
		board[(s.sq[i]^flip)&63] = letter
	}
	var sb strings.Builder
	sb.Write(chess.AppendMen(nil, func(sq chess.Square) byte { return board[sq] }))
	if s.mover == black {
		sb.WriteString(" b - ")
	} else {
		sb.WriteString(" w - ")
	}
	if pawn < 0 {
		sb.WriteString("- 0 1")
		return sb.String()
	}
	behind := s.sq[pawn] + 8
	if s.mover == 1 {
		behind = s.sq[pawn] - 8
	}
	sb.WriteString(chess.Square(behind ^ flip).String())
	sb.WriteString(" 0 1")
	return sb.String()
}
