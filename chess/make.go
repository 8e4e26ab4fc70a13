package chess

import "math/bits"

// Make plays a legal move and turns the board to the other side's view: men,
// rights, en-passant target, key, counters. m must come from GenerateMoves of
// this board (or be checked against it); any other move corrupts the board.
func (b *Board) Make(m Move) { b.makeIn(b, m) }

// makeIn writes the board after a legal move into c, all of it; c may be b itself.
func (b *Board) makeIn(c *Board, m Move) {
	key := b.key ^ b.manKey(m)
	if b.ep < NoSquare {
		key ^= zobrist.ep[b.ep&7]
	}
	rule50 := b.rule50 + 1
	if uint64(1)<<m.From()&b.pawns|uint64(1)<<m.To()&b.opp != 0 {
		rule50 = 0
	}
	before, color, number := b.castle, b.color, b.fullMove
	b.advance(c, m)
	if after := bits.ReverseBytes64(c.castle); after != before {
		key ^= castleKey(before&^after, color)
	}
	if c.ep < NoSquare {
		key ^= zobrist.ep[c.ep&7]
	}
	c.key, c.rule50 = key, rule50
	c.color, c.fullMove = color^1, number+uint16(color&1)
}

// manKey returns the change of the key by the men that m moves and takes, and
// by the change of sides.
func (b *Board) manKey(m Move) uint64 {
	from, to := m.From(), m.To()
	c := b.color & 1
	turn := Square(c) * 56
	ours, theirs := &zobrist.men[c], &zobrist.men[c^1]
	delta := zobrist.side
	if b.own>>to&1 != 0 { // castling
		kingTo, rookTo := castlingTargets(from, to)
		return delta ^ ours[kingCode][(from^turn)&63] ^ ours[kingCode][(kingTo^turn)&63] ^
			ours[8][(to^turn)&63] ^ ours[8][(rookTo^turn)&63]
	}
	code := b.code(from) & 15
	arrives := code
	switch {
	case code == 0:
		code, arrives = kingCode, kingCode
	case code == 1 && m>>12 != 0:
		arrives = promotionCodes[m>>12&7]
	case code == 1 && to == b.ep:
		delta ^= theirs[1][(to-8^turn)&63]
	}
	return delta ^ ours[code][(from^turn)&63] ^ ours[arrives&15][(to^turn)&63] ^ theirs[b.code(to)&15][(to^turn)&63]
}

// promotionCodes are the Zobrist rows of a Move's promotion field.
var promotionCodes = [8]uint64{1, 2, 4, 8, 12, 1, 1, 1}

// castlingTargets returns where king and rook stand after castling: g1 and f1
// for a rook to the right of the king, else c1 and d1.
func castlingTargets(king, rook Square) (kingTo, rookTo Square) {
	if rook > king {
		return 6, 5
	}
	return 2, 3
}

// advance writes the men, rights and en-passant target after a legal move into
// c, seen by the other side. It leaves key, colour and counters of c alone (perft
// needs none of them). c may be b itself.
func (b *Board) advance(c *Board, m Move) {
	from, to := m.From(), m.To()
	f, t := uint64(1)<<from, uint64(1)<<to
	own, opp := b.own, b.opp
	// Each set drops both fields and gets the target if the mover was in it;
	// this covers captures without a branch.
	keep := ^(f | t)
	pawns := b.pawns&keep | b.pawns>>from&1<<to
	knights := b.knights&keep | b.knights>>from&1<<to
	diag := b.diag&keep | b.diag>>from&1<<to
	orth := b.orth&keep | b.orth>>from&1<<to
	castle := b.castle & keep
	king, ep := b.king, NoSquare
	own ^= f | t
	opp &^= t
	switch {
	case b.pawns&f != 0:
		switch {
		case m>>12 != 0:
			pawns ^= t
			switch m.Promotion() {
			case Knight:
				knights |= t
			case Bishop:
				diag |= t
			case Rook:
				orth |= t
			default:
				diag |= t
				orth |= t
			}
		case to-from == 16:
			if (t<<1&^fileA|t>>1&^fileH)&pawns&opp != 0 {
				ep = (from + 8) ^ 56
			}
		case to == b.ep:
			pawns ^= t >> 8
			opp ^= t >> 8
		}
	case from == king:
		king = to
		castle &^= rank1
		if b.own&t != 0 { // castling: both fields are empty now, which in Chess960 one may go to
			var rookTo Square
			king, rookTo = castlingTargets(from, to)
			own |= 1<<king | 1<<rookTo
			orth |= 1 << rookTo
		}
	}
	c.king, c.oppKing = b.oppKing^56, king^56
	c.own, c.opp = bits.ReverseBytes64(opp), bits.ReverseBytes64(own)
	c.pawns = bits.ReverseBytes64(pawns)
	c.knights = bits.ReverseBytes64(knights)
	c.diag = bits.ReverseBytes64(diag)
	c.orth = bits.ReverseBytes64(orth)
	c.castle = bits.ReverseBytes64(castle)
	c.ep = ep
}
