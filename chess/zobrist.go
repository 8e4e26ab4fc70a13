package chess

// Zobrist numbers. A man's row is its four-bit code (pawn 1, knight 2, bishop 4,
// rook 8, queen 4|8 as in the sets of Board; king 3), row 0 is an empty field and
// stays zero, so that "no capture" needs no branch. Squares are white's view.
type zobristTable struct {
	men    [2][16][64]uint64
	castle [64]uint64 // by the rook's field
	ep     [8]uint64  // by file
	side   uint64     // black to move
}

const kingCode = 3

var zobrist = buildZobrist()

// buildZobrist fills the table from splitmix64 with a fixed seed (Steele, Lea,
// Flood 2014), so that keys are equal in every process and version.
func buildZobrist() *zobristTable {
	state := uint64(0x63686573736b6579)
	next := func() uint64 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	t := new(zobristTable)
	for c := range t.men {
		for _, code := range []int{1, 2, kingCode, 4, 8, 12} {
			for sq := range t.men[c][code] {
				t.men[c][code][sq] = next()
			}
		}
	}
	for sq := range t.castle {
		t.castle[sq] = next()
	}
	for f := range t.ep {
		t.ep[f] = next()
	}
	t.side = next()
	return t
}

// code returns the Zobrist row of the man on a field; 0 for a king or none.
func (b *Board) code(sq Square) uint64 {
	s := sq & 63
	return b.pawns>>s&1 | b.knights>>s&1<<1 | b.diag>>s&1<<2 | b.orth>>s&1<<3
}

// computeKey builds the key from nothing; Make keeps it up to date by differences.
func (b *Board) computeKey() uint64 {
	c := b.color & 1
	var key uint64
	for set := b.own | b.opp; set != 0; {
		sq := pop(&set)
		side := c
		if b.opp>>sq&1 != 0 {
			side ^= 1
		}
		code := b.code(sq)
		if sq == b.king || sq == b.oppKing {
			code = kingCode
		}
		key ^= zobrist.men[side][code&15][sq.absolute(c)&63]
	}
	key ^= castleKey(b.castle, c)
	if b.ep < NoSquare {
		key ^= zobrist.ep[b.ep&7]
	}
	if c == Black {
		key ^= zobrist.side
	}
	return key
}

// castleKey hashes a set of castling rooks seen by a mover of colour c.
func castleKey(rooks uint64, c Color) uint64 {
	var key uint64
	for rooks != 0 {
		key ^= zobrist.castle[pop(&rooks).absolute(c)&63]
	}
	return key
}
