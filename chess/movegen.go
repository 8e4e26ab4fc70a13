package chess

import "math/bits"

// GenerateMoves fills l with the legal moves. The order is fixed, because searches
// with equal seeds must be equal and it breaks ties, and policies stand in it in the
// protocol of plugins; no file depends on it: knights, bishops and diagonal queen moves, rooks
// and straight queen moves (each by from, then to), pawns (single steps, double
// steps, captures towards the a-file, captures towards the h-file, each by to;
// promotions queen, rook, bishop, knight; en passant), king steps by to, castling
// queenside before kingside.
func (b *Board) GenerateMoves(l *MoveList) {
	var m masks
	b.legality(&m)
	n := 0
	if !m.double {
		n = b.pieceMoves(l, &m)
		n = b.pawnMoves(l, n, &m)
	}
	king := int(b.king & 63)
	n = l.add(n, king, m.kingTo)
	l.N = l.add(n, king, m.castle)
}

// pieceMoves writes the moves of knights, bishops, rooks and queens.
func (b *Board) pieceMoves(l *MoveList, m *masks) int {
	n := 0
	occ, target := m.occ, m.target
	for set := b.knights & b.own &^ (m.pinO | m.pinD); set != 0; set &= set - 1 {
		from := bits.TrailingZeros64(set)
		n = l.add(n, from, knightTable[from&63]&target)
	}
	for set := b.diag & b.own &^ m.pinO; set != 0; set &= set - 1 {
		from := bits.TrailingZeros64(set)
		to := BishopAttacks(Square(from), occ) & target
		if m.pinD>>(from&63)&1 != 0 {
			to &= m.pinD
		}
		n = l.add(n, from, to)
	}
	for set := b.orth & b.own &^ m.pinD; set != 0; set &= set - 1 {
		from := bits.TrailingZeros64(set)
		to := RookAttacks(Square(from), occ) & target
		if m.pinO>>(from&63)&1 != 0 {
			to &= m.pinO
		}
		n = l.add(n, from, to)
	}
	return n
}

// add appends one man's moves to all fields of a set.
func (l *MoveList) add(n, from int, to uint64) int {
	for ; to != 0; to &= to - 1 {
		l.Moves[n&255] = Move(from) | Move(bits.TrailingZeros64(to))<<6
		n++
	}
	return n
}

// pawnTargets returns the legal targets of our pawns by direction, en passant
// not included.
func (b *Board) pawnTargets(m *masks) (one, two, left, right uint64) {
	pawns := b.pawns & b.own
	// A push keeps a pin only along the file, a capture only along the diagonal.
	push, pinned := pawns&^(m.pinO|m.pinD), pawns&^m.pinD&m.pinO
	one = (push<<8 | pinned<<8&m.pinO) &^ m.occ
	two = one & rank3 << 8 &^ m.occ & m.target
	one &= m.target
	pinned = pawns &^ m.pinO & m.pinD
	hit := m.target & b.opp
	left = (push&^fileA<<7 | pinned&^fileA<<7&m.pinD) & hit
	right = (push&^fileH<<9 | pinned&^fileH<<9&m.pinD) & hit
	return
}

// pawnMoves writes the moves of pawns.
func (b *Board) pawnMoves(l *MoveList, n int, m *masks) int {
	one, two, left, right := b.pawnTargets(m)
	n = l.addPawns(n, one, 8)
	n = l.addPawns(n, two, 16)
	n = l.addPawns(n, left, 7)
	n = l.addPawns(n, right, 9)
	if b.ep < NoSquare {
		for set := b.epTakers(m.occ); set != 0; set &= set - 1 {
			l.Moves[n&255] = Move(bits.TrailingZeros64(set)) | Move(b.ep)<<6
			n++
		}
	}
	return n
}

// addPawns appends pawn moves to all fields of a set, coming from to-step.
func (l *MoveList) addPawns(n int, to uint64, step int) int {
	for set := to &^ rank8; set != 0; set &= set - 1 {
		sq := bits.TrailingZeros64(set)
		l.Moves[n&255] = Move(sq-step) | Move(sq)<<6
		n++
	}
	for set := to & rank8; set != 0; set &= set - 1 {
		sq := bits.TrailingZeros64(set)
		mv := Move(sq-step) | Move(sq)<<6
		for _, promo := range [4]PieceType{Queen, Rook, Bishop, Knight} {
			l.Moves[n&255] = mv | Move(promo)<<12
			n++
		}
	}
	return n
}
