package encoding

import "github.com/chessbrain/chessbrain/chess"

// Sizes of the two parts of the policy index.
const (
	numPlainMoves = 1792 // queen lines and knight jumps, by from and to square
	numPromotions = 66   // to queen, rook, bishop: the plain move is the knight
)

// Promotion codes of a chess.Move.
const (
	promoNone   = 0
	promoKnight = 1
	promoQueen  = 4
)

// NoPolicyIndex is PolicyIndex's answer for what is no chess move.
const NoPolicyIndex uint16 = 0xffff

// plainIndex is from + 64*to -> policy index, or NoPolicyIndex.
// policyMoves is its inverse, promotions included.
var plainIndex, policyMoves = buildPolicy()

func buildPolicy() (index [NumSquares * NumSquares]uint16, moves [NumPolicy]chess.Move) {
	n := 0
	for from := range NumSquares {
		for to := range NumSquares {
			if !isQueenOrKnight(from, to) {
				index[from|to<<6] = NoPolicyIndex
				continue
			}
			index[from|to<<6] = uint16(n)
			moves[n] = makeMove(from, to, promoNone)
			n++
		}
	}
	for file := range 8 {
		for target := max(file-1, 0); target <= min(file+1, 7); target++ {
			for code := promoQueen; code > promoKnight; code-- {
				moves[n] = makeMove(48+file, 56+target, code)
				n++
			}
		}
	}
	return index, moves
}

// isQueenOrKnight reports whether a queen or a knight on an empty board can go
// from one square to the other.
func isQueenOrKnight(from, to int) bool {
	dx, dy := abs(to&7-from&7), abs(to>>3-from>>3)
	if dx == 0 && dy == 0 {
		return false
	}
	return dx == 0 || dy == 0 || dx == dy || dx+dy == 3
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

// makeMove builds a move from its parts; code is the promotion code.
func makeMove(from, to, code int) chess.Move { return chess.Move(from | to<<6 | code<<12) }

// PolicyIndex returns m's index in the policy, 0..1857. m is from the side to
// move's view, castling as king takes own rook. What is no queen line, knight
// jump or promotion gives NoPolicyIndex.
func PolicyIndex(m chess.Move) uint16 {
	code := int(m >> 12)
	if code <= promoKnight {
		return plainIndex[m&0xfff]
	}
	from, to := int(m&63), int(m>>6&63)
	file, target := from&7, to&7
	if code > promoQueen || from>>3 != 6 || to>>3 != 7 || abs(file-target) > 1 {
		return NoPolicyIndex
	}
	return uint16(numPlainMoves + 3*(2*file+target) + promoQueen - code)
}

// PolicyString returns the entry's name from the side to move's view, such as
// "e2e4", "e1h1" (castling) or "a7b8q"; "" if idx is out of range.
func PolicyString(idx uint16) string {
	if idx >= NumPolicy {
		return ""
	}
	m := policyMoves[idx]
	s := m.From().String() + m.To().String()
	if code := m >> 12; code != promoNone {
		s += string("nbrq"[code-1])
	}
	return s
}
