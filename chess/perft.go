package chess

import "math/bits"

// Perft returns the number of leaves of the legal move tree, depth plies deep
// (1 for depth 0). The last ply is counted by masks without writing moves.
func Perft(b *Board, depth int) uint64 {
	if depth <= 0 {
		return 1
	}
	if depth == 1 {
		return uint64(b.countMoves())
	}
	var l MoveList
	b.GenerateMoves(&l)
	var c Board
	var nodes uint64
	for _, m := range l.Slice() {
		b.advance(&c, m)
		nodes += Perft(&c, depth-1)
	}
	return nodes
}

// DivideEntry is one root move of Divide with the leaves below it.
type DivideEntry struct {
	Move  Move
	Nodes uint64
}

// Divide returns Perft of every root move in generation order; nil for depth < 1.
func Divide(b *Board, depth int) []DivideEntry {
	if depth < 1 {
		return nil
	}
	var l MoveList
	b.GenerateMoves(&l)
	out := make([]DivideEntry, 0, l.N)
	for _, m := range l.Slice() {
		c := *b
		c.Make(m)
		out = append(out, DivideEntry{m, Perft(&c, depth-1)})
	}
	return out
}

// countMoves returns the number of legal moves without writing them.
func (b *Board) countMoves() int {
	var m masks
	b.legality(&m)
	n := bits.OnesCount64(m.kingTo) + bits.OnesCount64(m.castle)
	if m.double {
		return n
	}
	own, occ, target := b.own, m.occ, m.target
	for set := b.knights & own &^ (m.pinO | m.pinD); set != 0; set &= set - 1 {
		n += bits.OnesCount64(knightTable[bits.TrailingZeros64(set)&63] & target)
	}
	for set := b.diag & own &^ (m.pinO | m.pinD); set != 0; set &= set - 1 {
		n += bits.OnesCount64(BishopAttacks(Square(bits.TrailingZeros64(set)), occ) & target)
	}
	for set := b.orth & own &^ (m.pinO | m.pinD); set != 0; set &= set - 1 {
		n += bits.OnesCount64(RookAttacks(Square(bits.TrailingZeros64(set)), occ) & target)
	}
	for set := b.diag & own &^ m.pinO & m.pinD; set != 0; set &= set - 1 {
		n += bits.OnesCount64(BishopAttacks(Square(bits.TrailingZeros64(set)), occ) & target & m.pinD)
	}
	for set := b.orth & own &^ m.pinD & m.pinO; set != 0; set &= set - 1 {
		n += bits.OnesCount64(RookAttacks(Square(bits.TrailingZeros64(set)), occ) & target & m.pinO)
	}
	one, two, left, right := b.pawnTargets(&m)
	n += bits.OnesCount64(one|two) + bits.OnesCount64(left) + bits.OnesCount64(right)
	if (one|left|right)&rank8 != 0 {
		n += 3 * (bits.OnesCount64(one&rank8) + bits.OnesCount64(left&rank8) + bits.OnesCount64(right&rank8))
	}
	if b.ep < NoSquare {
		n += bits.OnesCount64(b.epTakers(occ))
	}
	return n
}
