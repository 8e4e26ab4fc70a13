package chess

import "math/bits"

// Board is a position, seen by the side to move: "ours" are the men of the
// mover, whose pawns walk up. It is a small value: copy it to keep it, compare
// it with ==. Bit i of a set is square i.
//
// Invariants: one king a side, no pawns on the outer ranks, the side not to
// move is not in check, castle holds only rooks whose king is on its first rank,
// and ep is set only where one of our pawns stands beside the pawn that made a
// double step.
type Board struct {
	own, opp uint64 // all our men, all theirs
	pawns    uint64
	knights  uint64
	diag     uint64 // bishops and queens
	orth     uint64 // rooks and queens
	castle   uint64 // rooks that may still castle: ours on rank 1, theirs on rank 8
	key      uint64

	king, oppKing Square
	ep            Square // en-passant target (rank 6) or NoSquare
	color         Color  // side to move
	rule50        uint16 // plies since the last capture or pawn move
	fullMove      uint16 // 1 at the start, up by one after each move of black
}

var startBoard = func() Board {
	b, err := ParseFEN(StartFEN)
	if err != nil {
		panic(err)
	}
	return b
}()

// StartBoard returns the start position of standard chess.
func StartBoard() Board { return startBoard }

// SideToMove returns the colour of the mover.
func (b *Board) SideToMove() Color { return b.color }

// Ours returns the mover's men of one kind.
func (b *Board) Ours(pt PieceType) uint64 {
	if pt == King {
		return 1 << (b.king & 63)
	}
	return b.kind(pt) & b.own
}

// Theirs returns the opponent's men of one kind.
func (b *Board) Theirs(pt PieceType) uint64 {
	if pt == King {
		return 1 << (b.oppKing & 63)
	}
	return b.kind(pt) & b.opp
}

// kind returns both sides' men of one kind, kings excepted.
func (b *Board) kind(pt PieceType) uint64 {
	switch pt {
	case Pawn:
		return b.pawns
	case Knight:
		return b.knights
	case Bishop:
		return b.diag &^ b.orth
	case Rook:
		return b.orth &^ b.diag
	case Queen:
		return b.diag & b.orth
	}
	return 0
}

// OurMen returns all men of the mover.
func (b *Board) OurMen() uint64 { return b.own }

// Occupied returns all men.
func (b *Board) Occupied() uint64 { return b.own | b.opp }

// PieceAt returns the man on a field and whether it is the mover's; NoPiece for an empty field.
func (b *Board) PieceAt(sq Square) (pt PieceType, ours bool) {
	bit := uint64(1) << (sq & 63)
	if sq >= NoSquare || (b.own|b.opp)&bit == 0 {
		return NoPiece, false
	}
	ours = b.own&bit != 0
	switch {
	case sq == b.king || sq == b.oppKing:
		return King, ours
	case b.pawns&bit != 0:
		return Pawn, ours
	case b.knights&bit != 0:
		return Knight, ours
	case b.diag&b.orth&bit != 0:
		return Queen, ours
	case b.diag&bit != 0:
		return Bishop, ours
	}
	return Rook, ours
}

// CastlingRook returns the field of the rook of a castling right still held,
// from the mover's view, for our or their side; false when the right is gone.
// Holding a right does not mean that castling is possible now.
func (b *Board) CastlingRook(ours, kingside bool) (Square, bool) {
	rooks, king := b.castle&rank1, b.king
	if !ours {
		rooks, king = b.castle&rank8, b.oppKing
	}
	lower := uint64(1)<<(king&63) - 1
	if kingside {
		rooks &^= lower
	} else {
		rooks &= lower
	}
	if rooks == 0 {
		return NoSquare, false
	}
	return Square(bits.TrailingZeros64(rooks)), true
}

// Recoloured returns the position with the colours exchanged: the mover sees the same.
func (b Board) Recoloured() Board {
	b.color ^= 1
	b.key = b.computeKey()
	return b
}

// MayCastle reports whether any castling right is held.
func (b *Board) MayCastle() bool { return b.castle != 0 }

// IsCastling reports whether a legal move is castling.
func (b *Board) IsCastling(m Move) bool { return b.own>>m.To()&1 != 0 }

// IsCapture reports whether a legal move takes a man, en passant included.
func (b *Board) IsCapture(m Move) bool {
	return b.opp>>m.To()&1 != 0 || b.ep < NoSquare && m.To() == b.ep && b.pawns>>m.From()&1 != 0
}

// Mates reports whether a legal move mates.
func (b *Board) Mates(m Move) bool {
	next := *b
	b.advance(&next, m) // which leaves the key, colour and counters: they do not matter here
	return next.InCheck() && next.countMoves() == 0
}

// EnPassant returns the field behind an enemy pawn that has just made a double
// step, from the mover's view, if one of our pawns stands beside that pawn, else
// NoSquare. The condition is pseudo-legal: a pin of our pawn does not clear it.
func (b *Board) EnPassant() Square { return b.ep }

// Rule50 returns the plies since the last capture or pawn move.
func (b *Board) Rule50() int { return int(b.rule50) }

// FullMove returns the move number of FEN: 1 at the start, counted after black's moves.
func (b *Board) FullMove() int { return int(b.fullMove) }

// Key returns the Zobrist hash of men, castling rights, en-passant flag and side
// to move; move counters are not in it. It is the same in every process.
func (b *Board) Key() uint64 { return b.key }

// InCheck reports whether the mover's king is attacked.
func (b *Board) InCheck() bool {
	k := b.king
	occ := b.own | b.opp
	return (knightTable[k&63]&b.knights|pawnTable[k&63]&b.pawns|
		BishopAttacks(k, occ)&b.diag|RookAttacks(k, occ)&b.orth)&b.opp != 0
}

// samePosition is equality for repetitions: men, rights, en-passant flag, side.
func (b *Board) samePosition(o *Board) bool {
	return b.key == o.key && b.own == o.own && b.opp == o.opp && b.pawns == o.pawns &&
		b.knights == o.knights && b.diag == o.diag && b.orth == o.orth &&
		b.castle == o.castle && b.ep == o.ep && b.color == o.color &&
		b.king == o.king && b.oppKing == o.oppKing
}

// InsufficientMaterial reports whether no sequence of moves can mate: bare
// kings, one minor piece against a bare king, or bishops only, all on fields of
// one colour. Two knights, or bishop and knight in either split, suffice.
func (b *Board) InsufficientMaterial() bool {
	if b.pawns|b.orth != 0 {
		return false
	}
	if bits.OnesCount64(b.own|b.opp) <= 3 {
		return true
	}
	if b.knights != 0 {
		return false
	}
	return b.diag&darkSquares == 0 || b.diag&^darkSquares == 0
}

// PieceValue is what a man is commonly worth, in pawns, by PieceType; kings and
// empty fields are worth nothing.
var PieceValue = [...]int{Pawn: 1, Knight: 3, Bishop: 3, Rook: 5, Queen: 9, King: 0, NoPiece: 0}

// Gain returns the material that a legal move wins, in pawns: the value of the man that
// it takes and, for a promotion, that of the new man less one.
func (b *Board) Gain(m Move) int {
	won := 0
	if b.IsCapture(m) {
		taken, ours := b.PieceAt(m.To())
		if taken == NoPiece || ours { // en passant: the field is empty
			taken = Pawn
		}
		won = PieceValue[taken]
	}
	if p := m.Promotion(); p != NoPiece {
		won += PieceValue[p] - PieceValue[Pawn]
	}
	return won
}

// MaterialBalance returns the material of the side to move less that of the
// opponent, in pawns.
func (b *Board) MaterialBalance() int {
	sum := 0
	for pt := Pawn; pt < King; pt++ {
		sum += PieceValue[pt] * (bits.OnesCount64(b.Ours(pt)) - bits.OnesCount64(b.Theirs(pt)))
	}
	return sum
}
