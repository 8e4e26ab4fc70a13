package chess

import "math/bits"

// Bit masks of files and ranks, bit i = square i.
const (
	fileA uint64 = 0x0101010101010101
	fileB        = fileA << 1
	fileG        = fileA << 6
	fileH        = fileA << 7
	rank1 uint64 = 0xFF
	rank3        = rank1 << 16
	rank8        = rank1 << 56

	darkSquares uint64 = 0xAA55AA55AA55AA55
)

var (
	knightTable = stepTable([8][2]int{{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}})
	kingTable   = stepTable([8][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}})
	// pawnTable holds the fields that a pawn of the mover attacks.
	pawnTable = stepTable([8][2]int{{-1, 1}, {1, 1}})

	rookRays   = rayTable(rookDirections[:])
	bishopRays = rayTable(bishopDirections[:])
	// rising and falling hold the other fields of a field's two diagonals.
	rising  = rayTable(bishopDirections[:2])
	falling = rayTable(bishopDirections[2:])
	// rankTable holds what a rook of each file attacks on the first rank, by the blockers
	// on the files b to g.
	rankTable = rookRanks()
	// between holds the fields strictly between two fields on one line, else 0.
	between = betweenTable()
)

var (
	rookDirections   = [4][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}
	bishopDirections = [4][2]int{{1, 1}, {-1, -1}, {1, -1}, {-1, 1}}
)

// RookAttacks returns the fields that a rook on sq, below 64, attacks, the first blocker
// of each ray included whatever its colour.
func RookAttacks(sq Square, occ uint64) uint64 {
	sq &= 63
	return along(sq, fileA<<(sq&7)^1<<sq, occ) | uint64(rankTable[sq&7][occ>>(sq&56+1)&63])<<(sq&56)
}

// BishopAttacks is RookAttacks for a bishop.
func BishopAttacks(sq Square, occ uint64) uint64 {
	sq &= 63
	return along(sq, rising[sq], occ) | along(sq, falling[sq], occ)
}

// along returns the fields of a line through sq that a slider attacks; the line has at most
// one field of each rank. To take the slider from the blockers borrows from the first one
// above it: what changes is as far as it sees. Below, the same on the board upside down.
func along(sq Square, line, occ uint64) uint64 {
	occ &= line
	slider := uint64(1) << (sq & 63)
	return (occ - slider ^ bits.ReverseBytes64(bits.ReverseBytes64(occ)-bits.ReverseBytes64(slider))) & line
}

// Attacks returns the fields that a man of the side to move attacks from sq, the first
// blocker of each line included whatever its colour. Pawns attack upwards.
func Attacks(pt PieceType, sq Square, occ uint64) uint64 {
	switch sq &= 63; pt {
	case Pawn:
		return pawnTable[sq]
	case Knight:
		return knightTable[sq]
	case Bishop:
		return BishopAttacks(sq, occ)
	case Rook:
		return RookAttacks(sq, occ)
	case Queen:
		return BishopAttacks(sq, occ) | RookAttacks(sq, occ)
	case King:
		return kingTable[sq]
	}
	return 0
}

// knightSet returns the fields that any knight of the set attacks.
func knightSet(n uint64) uint64 {
	one := n>>1&^fileH | n<<1&^fileA
	two := n>>2&^(fileG|fileH) | n<<2&^(fileA|fileB)
	return one<<16 | one>>16 | two<<8 | two>>8
}

// enemyPawnSet returns the fields that enemy pawns of the set attack (downwards).
func enemyPawnSet(p uint64) uint64 { return p&^fileH>>7 | p&^fileA>>9 }

// pop takes the lowest square out of a non-empty set.
func pop(set *uint64) Square {
	sq := Square(bits.TrailingZeros64(*set))
	*set &= *set - 1
	return sq
}

// walk returns the fields on the rays from sq up to and including the first blocker.
func walk(sq int, occ uint64, dirs [][2]int) uint64 {
	var set uint64
	for _, d := range dirs {
		for f, r := sq&7+d[0], sq>>3+d[1]; onBoard(f, r); f, r = f+d[0], r+d[1] {
			set |= 1 << (r*8 + f)
			if occ>>(r*8+f)&1 != 0 {
				break
			}
		}
	}
	return set
}

func onBoard(f, r int) bool { return f >= 0 && f < 8 && r >= 0 && r < 8 }

func stepTable(steps [8][2]int) (t [64]uint64) {
	for sq := range 64 {
		for _, d := range steps {
			if f, r := sq&7+d[0], sq>>3+d[1]; d != [2]int{} && onBoard(f, r) {
				t[sq] |= 1 << (r*8 + f)
			}
		}
	}
	return t
}

func rayTable(dirs [][2]int) (t [64]uint64) {
	for sq := range 64 {
		t[sq] = walk(sq, 0, dirs)
	}
	return t
}

func rookRanks() (t [8][64]uint8) {
	for file := range 8 {
		for blockers := range 64 {
			t[file][blockers] = uint8(walk(file, uint64(blockers)<<1, rookDirections[:2]))
		}
	}
	return t
}

func betweenTable() (t [64][64]uint64) {
	for a := range 64 {
		for _, dirs := range [2][][2]int{rookDirections[:], bishopDirections[:]} {
			for b := range 64 {
				if walk(a, 0, dirs)>>b&1 != 0 {
					t[a][b] = walk(a, 1<<b, dirs) & walk(b, 1<<a, dirs)
				}
			}
		}
	}
	return t
}
