package kernel

import (
	"math"
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
)

// Plane numbers after the bit masks (package encoding).
const (
	planeCastling = encoding.NumMasks // four planes
	planeRule50   = 109
	planeOnes     = 111
)

// ExpandInput writes the 112 input planes of boards positions, format 1, as
// x [boards][64][112]: 0 or 1, plane 109 = rule50/99. Positions are masks[i],
// scalars[i].
func ExpandInput(x []float32, masks [][encoding.NumMasks]uint64, scalars []encoding.Scalars, boards int) {
	const size = 64 * encoding.NumPlanes
	for b := range boards {
		xb := (*[size]float32)(x[b*size:])
		if expandVec(xb, &masks[b], &scalars[b]) {
			continue
		}
		clear(xb[:])
		row := constantPlanes(&scalars[b])
		for sq := range 64 {
			*(*[len(row)]float32)(xb[sq*encoding.NumPlanes+planeCastling:]) = row
		}
		for p, m := range &masks[b] {
			for ; m != 0; m &= m - 1 {
				xb[bits.TrailingZeros64(m)*encoding.NumPlanes+p] = 1
			}
		}
	}
}

// constantPlanes returns the values of the planes that hold one on all squares.
func constantPlanes(s *encoding.Scalars) (row [encoding.NumPlanes - planeCastling]float32) {
	for i, v := range [...]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.BlackToMove} {
		if v != 0 {
			row[i] = 1
		}
	}
	row[planeRule50-planeCastling] = float32(s.Rule50) / 99
	row[planeOnes-planeCastling] = 1
	return row
}

// expandVec writes one board's planes, or returns false where the tier has no kernel for it.
func expandVec(x *[64 * encoding.NumPlanes]float32, masks *[encoding.NumMasks]uint64, s *encoding.Scalars) bool {
	f := vectors().expand
	if f == nil {
		return false
	}
	const planes = encoding.NumPlanes - planeCastling
	var constants [planes]uint64
	var values [panel]float32
	row := constantPlanes(s)
	for i := range values {
		values[i] = 1
	}
	for i, v := range row {
		if v != 0 {
			constants[i], values[panel-planes+i] = math.MaxUint64, v
		}
	}
	args := expandArgs{y: &x[0], masks: &masks[0], constants: &constants[0], values: &values[0],
		one: bits32(1), firstBit: 1}
	run(f, &args)
	return true
}
