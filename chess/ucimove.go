package chess

import "strings"

// UCI returns a legal move in UCI's notation. Castling is written as the king's
// two-step (e1g1) in standard chess and as king takes rook (e1h1) with chess960.
// In a Chess960 position always pass true (Castles960): a two-step may look like a king
// move.
func (b *Board) UCI(m Move, chess960 bool) string {
	if m == NoMove {
		return "0000"
	}
	from, to := m.From(), m.To()
	if !chess960 && b.IsCastling(m) {
		to, _ = castlingTargets(from, to)
	}
	return NewMove(from.absolute(b.color), to.absolute(b.color), m.Promotion()).String()
}

// Castles960 reports whether a castling right needs the notation of Chess960:
// its king or rook stands elsewhere than in standard chess.
func (b *Board) Castles960() bool {
	const corners = (fileA | fileH) & (rank1 | rank8)
	return b.castle&^corners != 0 || b.castle&rank1 != 0 && b.king != 4 || b.castle&rank8 != 0 && b.oppKing != 60
}

// ParseUCI reads a legal move: e2e4, e7e8q, castling as e1g1 or e1h1. A text that
// is both a king step and a castling two-step is the king step. Errors are
// *MoveError.
func (b *Board) ParseUCI(s string) (Move, error) {
	fail := func(reason string) (Move, error) {
		return NoMove, &MoveError{"UCI", s, b.FEN(), reason}
	}
	if len(s) != 4 && len(s) != 5 {
		return fail("malformed: want 4 or 5 characters")
	}
	from, ok1 := parseSquare(s[:2])
	to, ok2 := parseSquare(s[2:4])
	if !ok1 || !ok2 {
		return fail("malformed: want two fields such as e2e4")
	}
	promo := NoPiece
	if len(s) == 5 {
		at := strings.IndexByte("nbrq", s[4])
		if at < 0 {
			return fail("malformed: promotion must be one of n, b, r, q")
		}
		promo = Knight + PieceType(at)
	}
	from, to = from.absolute(b.color), to.absolute(b.color)
	var l MoveList
	b.GenerateMoves(&l)
	want := NewMove(from, to, promo)
	if l.Index(want) >= 0 {
		return want, nil
	}
	if from == b.king && promo == NoPiece {
		for _, m := range l.Slice() {
			if kingTo, _ := castlingTargets(from, m.To()); m.From() == from && b.IsCastling(m) && kingTo == to {
				return m, nil
			}
		}
	}
	return fail("illegal")
}
