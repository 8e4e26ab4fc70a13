package chess

import "math/bits"

// masks is what strict legality needs to know of a position, so that no move
// has to be tried out: where check must be answered, which men are pinned along
// which lines, where the king may go.
type masks struct {
	occ    uint64
	target uint64 // fields that other men than the king may move to: not ours, and answering a check
	pinO   uint64 // lines of pins along ranks and files: between king and pinner, pinner included
	pinD   uint64 // the same along diagonals
	kingTo uint64 // legal king steps
	castle uint64 // our rooks that may castle now
	double bool   // double check: only the king may move
}

// legality computes the masks of the position.
//
// One mask for all straight pins (and one for all diagonal ones) is enough: a
// man pinned on one line can never reach a field of the other line of its kind
// with a move of that kind.
func (b *Board) legality(m *masks) {
	own, opp := b.own, b.opp
	occ := own | opp
	k := b.king & 63
	oppOrth, oppDiag := b.orth&opp, b.diag&opp
	checkers := (knightTable[k]&b.knights | pawnTable[k]&b.pawns) & opp
	answer := checkers
	var pinO, pinD uint64
	lines := &between[k]
	for set := rookRays[k] & oppOrth; set != 0; set &= set - 1 {
		s := bits.TrailingZeros64(set) & 63
		line := lines[s]
		if block := line & occ; block == 0 {
			checkers |= 1 << s
			answer |= line | 1<<s
		} else if block&(block-1) == 0 && block&own != 0 {
			pinO |= line | 1<<s
		}
	}
	for set := bishopRays[k] & oppDiag; set != 0; set &= set - 1 {
		s := bits.TrailingZeros64(set) & 63
		line := lines[s]
		if block := line & occ; block == 0 {
			checkers |= 1 << s
			answer |= line | 1<<s
		} else if block&(block-1) == 0 && block&own != 0 {
			pinD |= line | 1<<s
		}
	}
	m.occ, m.pinO, m.pinD = occ, pinO, pinD
	m.target = ^own
	if checkers != 0 {
		m.target &= answer
	}
	m.double = checkers&(checkers-1) != 0
	want := kingTable[k] &^ own
	var rooks uint64
	if b.castle&rank1 != 0 && checkers == 0 {
		rooks = b.castle & rank1
		want |= rank1
	}
	m.kingTo, m.castle = 0, 0
	if want == 0 {
		return
	}
	safe := b.safeFields(want, occ)
	m.kingTo = safe & kingTable[k] &^ own
	if rooks != 0 {
		m.castle = b.castlingRooks(rooks, safe, occ, pinO)
	}
}

// safeFields returns the fields of want that no enemy man attacks once our king
// has left its field.
func (b *Board) safeFields(want, occ uint64) uint64 {
	opp := b.opp
	want &^= enemyPawnSet(b.pawns&opp) | knightSet(b.knights&opp) | kingTable[b.oppKing&63]
	occ ^= 1 << (b.king & 63)
	for set := b.diag & opp; set != 0; set &= set - 1 {
		want &^= bishopAttacks(Square(bits.TrailingZeros64(set)), occ)
	}
	for set := b.orth & opp; set != 0; set &= set - 1 {
		want &^= rookAttacks(Square(bits.TrailingZeros64(set)), occ)
	}
	return want
}

// castlingRooks returns those of our castling rooks with which castling is legal
// now; the king is not in check. safe must be right for the whole first rank.
func (b *Board) castlingRooks(rooks, safe, occ, pinO uint64) uint64 {
	var legal uint64
	king := uint64(1) << (b.king & 63)
	for set := rooks; set != 0; set &= set - 1 {
		rook := set & -set
		kingTo, rookTo := castlingTargets(b.king, Square(bits.TrailingZeros64(rook)))
		kingWay := span(king, 1<<kingTo)
		rookWay := span(rook, 1<<rookTo)
		// A castling rook that is pinned (Chess960) would uncover its own king.
		if (kingWay|rookWay)&occ&^(king|rook) == 0 && kingWay&^(safe|king) == 0 && rook&pinO == 0 {
			legal |= rook
		}
	}
	return legal
}

// span returns the fields from a to b, both included, of two single bits on one rank.
func span(a, b uint64) uint64 {
	if a > b {
		a, b = b, a
	}
	return b<<1 - a
}

// epTakers returns our pawns that may legally take en passant. Both pawns leave
// their rank, so pins are tested by looking along the lines with the men as they
// stand afterwards.
func (b *Board) epTakers(occ uint64) uint64 {
	if b.ep >= NoSquare {
		return 0
	}
	target := uint64(1) << b.ep
	taken := target >> 8
	k := b.king & 63
	if (knightTable[k]&b.knights|pawnTable[k]&b.pawns)&b.opp&^taken != 0 {
		return 0
	}
	var takers uint64
	for set := (target&^fileA>>9 | target&^fileH>>7) & b.pawns & b.own; set != 0; set &= set - 1 {
		after := occ&^(set&-set|taken) | target
		if bishopAttacks(k, after)&b.diag&b.opp == 0 && rookAttacks(k, after)&b.orth&b.opp == 0 {
			takers |= set & -set
		}
	}
	return takers
}
