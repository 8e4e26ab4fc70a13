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
	if set := rookRays[k] & oppOrth; set != 0 {
		on, line, pin := attackLines(set, lines, occ, own)
		checkers, answer, pinO = checkers|on, answer|line, pin
	}
	if set := bishopRays[k] & oppDiag; set != 0 {
		on, line, pin := attackLines(set, lines, occ, own)
		checkers, answer, pinD = checkers|on, answer|line, pin
	}
	m.occ, m.pinO, m.pinD = occ, pinO, pinD
	m.target = ^own
	if checkers != 0 {
		m.target &= answer
	}
	m.double = checkers&(checkers-1) != 0
	steps := kingTable[k] &^ own
	want := steps
	var rooks uint64
	if b.castle&rank1 != 0 && checkers == 0 {
		rooks = b.freeCastling(occ, pinO)
		want |= kingWays(b.king, rooks)
	}
	safe := b.safeFields(want, occ)
	m.kingTo, m.castle = safe&steps, 0
	for set := rooks; set != 0; set &= set - 1 {
		if rook := set & -set; kingWays(b.king, rook)&^safe == 0 {
			m.castle |= rook
		}
	}
}

// attackLines looks along the lines from the king to enemy sliders: those with
// nothing between give check (answer is then the line and the checker), those with
// one man of ours between pin it.
func attackLines(sliders uint64, lines *[64]uint64, occ, own uint64) (checkers, answer, pins uint64) {
	for set := sliders; set != 0; set &= set - 1 {
		bit := set & -set
		line := lines[bits.TrailingZeros64(set)&63]
		if block := line & occ; block == 0 {
			checkers |= bit
			answer |= line | bit
		} else if block&(block-1) == 0 && block&own != 0 {
			pins |= line | bit
		}
	}
	return
}

// safeFields returns the fields of want that no enemy man attacks once our king
// has left its field.
func (b *Board) safeFields(want, occ uint64) uint64 {
	opp := b.opp
	want &^= enemyPawnSet(b.pawns&opp) | knightSet(b.knights&opp) | kingTable[b.oppKing&63]
	if want == 0 {
		return 0
	}
	occ ^= 1 << (b.king & 63)
	for set := b.diag & opp; set != 0; set &= set - 1 {
		if s := bits.TrailingZeros64(set) & 63; bishopRays[s]&want != 0 {
			want &^= BishopAttacks(Square(s), occ)
		}
	}
	for set := b.orth & opp; set != 0; set &= set - 1 {
		if s := bits.TrailingZeros64(set) & 63; rookRays[s]&want != 0 {
			want &^= RookAttacks(Square(s), occ)
		}
	}
	return want
}

// freeCastling returns our castling rooks with nothing but king and rook on
// either's way; whether the king's way is safe remains to be seen. A castling
// rook that is pinned (Chess960) would uncover its own king and is left out.
func (b *Board) freeCastling(occ, pinO uint64) uint64 {
	var free uint64
	king := uint64(1) << (b.king & 63)
	for set := b.castle & rank1 &^ pinO; set != 0; set &= set - 1 {
		rook := set & -set
		kingTo, rookTo := castlingTargets(b.king, Square(bits.TrailingZeros64(rook)))
		if (span(king, 1<<kingTo)|span(rook, 1<<rookTo))&occ&^(king|rook) == 0 {
			free |= rook
		}
	}
	return free
}

// kingWays returns the fields that the king crosses or reaches when it castles
// with the rooks of a set, its own field not included.
func kingWays(king Square, rooks uint64) uint64 {
	var way uint64
	from := uint64(1) << (king & 63)
	if rooks&(from-1) != 0 {
		way = span(from, 1<<2)
	}
	if rooks&^(from-1) != 0 {
		way |= span(from, 1<<6)
	}
	return way &^ from
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
		if BishopAttacks(k, after)&b.diag&b.opp == 0 && RookAttacks(k, after)&b.orth&b.opp == 0 {
			takers |= set & -set
		}
	}
	return takers
}
