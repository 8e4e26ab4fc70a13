package chess

import "slices"

// Square is a field of the board, a1 = 0, b1 = 1, ... h8 = 63, from the
// mover's view: for black to move the ranks are flipped (a8 = 0), files are not.
type Square uint8

// NoSquare stands for "none", e.g. no en-passant target.
const NoSquare Square = 64

// File returns 0 for the a-file up to 7 for the h-file.
func (s Square) File() int { return int(s & 7) }

// Rank returns 0 for the mover's first rank up to 7 for the last.
func (s Square) Rank() int { return int(s >> 3) }

// String returns the name of the field as if white were to move, "-" for NoSquare.
func (s Square) String() string {
	if s >= NoSquare {
		return "-"
	}
	return string([]byte{'a' + byte(s&7), '1' + byte(s>>3)})
}

// absolute converts between the view of a mover of colour c and white's view.
func (s Square) absolute(c Color) Square { return s ^ Square(c)*56 }

// Color is the side to move.
type Color uint8

// The two sides.
const (
	White Color = 0
	Black Color = 1
)

// String returns "white" or "black".
func (c Color) String() string { return [...]string{"white", "black"}[c&1] }

// PieceType is a kind of man, without colour.
type PieceType uint8

// The kinds of men, in the order of the input planes.
const (
	Pawn PieceType = iota
	Knight
	Bishop
	Rook
	Queen
	King
	NoPiece
)

// pieceLetters are the lower-case FEN letters by PieceType.
const pieceLetters = "pnbrqk"

// Letter returns the upper-case letter of SAN and FEN ('P' for a pawn), '-' for NoPiece.
func (p PieceType) Letter() byte {
	if p >= NoPiece {
		return '-'
	}
	return pieceLetters[p] - 'a' + 'A'
}

// Move is from | to<<6 | promotion<<12, from the mover's view; promotion is 0
// (none), 1 knight, 2 bishop, 3 rook, 4 queen. Castling is the king taking its
// own rook, in standard chess too. The layout is part of the game record format.
type Move uint16

// NoMove is the zero Move; it is never legal.
const NoMove Move = 0

// NewMove packs a move; promo is Knight, Bishop, Rook or Queen for a promotion
// and anything else (Pawn, NoPiece) for other moves.
func NewMove(from, to Square, promo PieceType) Move {
	m := Move(from&63) | Move(to&63)<<6
	if promo >= Knight && promo <= Queen {
		m |= Move(promo) << 12
	}
	return m
}

// From returns the field that the man leaves.
func (m Move) From() Square { return Square(m & 63) }

// To returns the field that the man goes to; for castling, that of the own rook.
func (m Move) To() Square { return Square(m >> 6 & 63) }

// Promotion returns Knight to Queen, or NoPiece when the move is no promotion.
func (m Move) Promotion() PieceType {
	if p := PieceType(m >> 12); p >= Knight && p <= Queen {
		return p
	}
	return NoPiece
}

// String returns the raw move from the mover's view (castling e1h1), for debugging.
func (m Move) String() string {
	if m == NoMove {
		return "0000"
	}
	s := m.From().String() + m.To().String()
	if p := m.Promotion(); p != NoPiece {
		s += pieceLetters[p : p+1]
	}
	return s
}

// MaxMoves is the capacity of a MoveList; no position that ParseFEN accepts has
// more than 218 legal moves.
const MaxMoves = 256

// MoveList is a fixed array of moves, so that generation never allocates.
type MoveList struct {
	N     int
	Moves [MaxMoves]Move
}

// Slice returns the moves in the list; it aliases the list.
func (l *MoveList) Slice() []Move { return l.Moves[:l.N] }

// Index returns the position of m in the list, -1 if it is not there.
func (l *MoveList) Index(m Move) int { return slices.Index(l.Slice(), m) }
