package chess

import "math/bits"

//go:generate go test -run TestMagics -update .

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

// slider is one field's entry into sliderTable: the attacked set for occupancy
// occ is sliderTable[off + (occ&mask)*mul>>shift].
type slider struct {
	mask, mul uint64
	off       uint32
	shift     uint32
}

const (
	// sliderSlots is the table's size, a power of two so that a mask replaces
	// the bounds check; 107 648 slots of it are used.
	sliderSlots = 1 << 17
	sliderWrap  = sliderSlots - 1
)

var (
	sliderTable   [sliderSlots]uint64
	rookSliders   [64]slider
	bishopSliders [64]slider

	knightTable = stepTable([8][2]int{{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}})
	kingTable   = stepTable([8][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}})
	// pawnTable holds the fields that a pawn of the mover attacks.
	pawnTable = stepTable([8][2]int{{-1, 1}, {1, 1}})

	rookRays   = rayTable(rookDirections)
	bishopRays = rayTable(bishopDirections)
	// between holds the fields strictly between two fields on one line, else 0.
	between = betweenTable()

	_ = fillSliders()
)

var (
	rookDirections   = [4][2]int{{0, 1}, {1, 0}, {0, -1}, {-1, 0}}
	bishopDirections = [4][2]int{{1, 1}, {1, -1}, {-1, -1}, {-1, 1}}
)

// RookAttacks returns the fields that a rook on sq, below 64, attacks, the first blocker
// of each ray included whatever its colour.
func RookAttacks(sq Square, occ uint64) uint64 {
	s := &rookSliders[sq&63]
	return sliderTable[(uint64(s.off)+(occ&s.mask)*s.mul>>(s.shift&63))&sliderWrap]
}

// BishopAttacks is RookAttacks for a bishop.
func BishopAttacks(sq Square, occ uint64) uint64 {
	s := &bishopSliders[sq&63]
	return sliderTable[(uint64(s.off)+(occ&s.mask)*s.mul>>(s.shift&63))&sliderWrap]
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

// walk returns the fields on the rays from sq up to and including the first
// blocker; inner leaves out each ray's last field before the edge.
func walk(sq int, occ uint64, dirs [4][2]int, inner bool) uint64 {
	var set uint64
	for _, d := range dirs {
		f, r := sq&7+d[0], sq>>3+d[1]
		for onBoard(f, r) {
			if inner && !onBoard(f+d[0], r+d[1]) {
				break
			}
			set |= 1 << (r*8 + f)
			if occ>>(r*8+f)&1 != 0 {
				break
			}
			f, r = f+d[0], r+d[1]
		}
	}
	return set
}

func onBoard(f, r int) bool { return f >= 0 && f < 8 && r >= 0 && r < 8 }

func fillSliders() bool {
	off := uint32(0)
	fill := func(table *[64]slider, muls *[64]uint64, dirs [4][2]int) {
		for sq := range 64 {
			mask := walk(sq, 0, dirs, true)
			n := bits.OnesCount64(mask)
			s := slider{mask: mask, mul: muls[sq], off: off, shift: uint32(64 - n)}
			for sub := uint64(0); ; {
				sliderTable[uint64(off)+sub*s.mul>>s.shift] = walk(sq, sub, dirs, false)
				if sub = (sub - mask) & mask; sub == 0 {
					break
				}
			}
			table[sq] = s
			off += 1 << n
		}
	}
	fill(&rookSliders, &rookMultipliers, rookDirections)
	fill(&bishopSliders, &bishopMultipliers, bishopDirections)
	return true
}

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

func rayTable(dirs [4][2]int) (t [64]uint64) {
	for sq := range 64 {
		t[sq] = walk(sq, 0, dirs, false)
	}
	return t
}

func betweenTable() (t [64][64]uint64) {
	for a := range 64 {
		for _, dirs := range [2][4][2]int{rookDirections, bishopDirections} {
			for b := range 64 {
				if walk(a, 0, dirs, false)>>b&1 != 0 {
					t[a][b] = walk(a, 1<<b, dirs, false) & walk(b, 1<<a, dirs, false)
				}
			}
		}
	}
	return t
}
