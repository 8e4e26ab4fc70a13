package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The input planes of a board: 104 bit masks, then 8 of one value each, which
// come as masks of all squares or none too. Lanes are planes: a vector holds one
// 32-bit half of the masks of as many planes as it has lanes, and a square is a
// test of one bit in all of them.
const (
	inputPlanes = 112
	maskPlanes  = 104
	halfSquares = 32
)

// genExpand emits the expansion of a board's masks to floats.
func genExpand(v isa) {
	v.kernel("expand", "expandArgs", "writes the input planes of a board, [64][112].", func(f *frame) {
		lanes := v.size / 4
		// AVX2 has too few registers for all planes at once: two parts.
		parts := 64 / v.size
		groups := inputPlanes / lanes / parts
		ones, value := v.vec(), v.vec()
		VBROADCASTSS(f.mem("one"), ones)
		values := f.load("values")
		VMOVUPS(Mem{Base: values, Disp: panelBytes - v.size}, value)
		for part := range parts {
			for half := range 2 {
				y := f.load("y")
				ADDQ(U32(uint32(4*inputPlanes*halfSquares*half+4*lanes*groups*part)), y)
				masks := make([]reg.VecVirtual, groups)
				for g := range masks {
					masks[g] = v.maskHalves(f, lanes*(part*groups+g), half)
				}
				bit, square := v.vec(), GP64()
				VPBROADCASTD(f.mem("firstBit"), bit)
				MOVQ(U32(halfSquares), square)
				label := "part" + string(rune('0'+part)) + "half" + string(rune('0'+half))
				loop(label, square, func() {
					for g, m := range masks {
						set := ones
						if part == parts-1 && g == groups-1 {
							set = value // the planes of one value
						}
						VMOVUPS(v.whereBit(m, bit, set), Mem{Base: y, Disp: g * v.size})
					}
					VPADDD(bit, bit, bit)
					ADDQ(U32(4*inputPlanes), y)
				})
			}
		}
	})
}

// maskHalves returns the low (0) or high (1) 32 bits of the masks of a vector of
// planes from first on.
func (v isa) maskHalves(f *frame, first, half int) reg.VecVirtual {
	load := func(plane int) reg.VecVirtual { // as many 64-bit masks as fit
		if plane >= maskPlanes {
			return v.copyOf(Mem{Base: f.load("constants"), Disp: 8 * (plane - maskPlanes)})
		}
		return v.copyOf(Mem{Base: f.load("masks"), Disp: 8 * plane})
	}
	a, b := load(first), load(first+v.size/8)
	if v.size == 64 {
		if half == 1 {
			VPSRLQ(Imm(32), a, a)
			VPSRLQ(Imm(32), b, b)
		}
		low, high := YMM(), YMM()
		VPMOVQD(a, low)
		VPMOVQD(b, high)
		r := v.vec()
		VINSERTI64X4(Imm(1), high, low.AsZ(), r)
		return r
	}
	pick := []uint64{0x88, 0xdd}[half]   // even or odd 32-bit elements
	const order = 0 | 2<<2 | 1<<4 | 3<<6 // undoes the interleaving by 128 bits
	VSHUFPS(Imm(pick), b, a, a)
	VPERMQ(Imm(order), a, a)
	return a
}

// whereBit returns set in the lanes of m that have the bit, else 0.
func (v isa) whereBit(m, bit, set reg.VecVirtual) reg.VecVirtual {
	r := v.vec()
	if v.size == 64 {
		k := K()
		VPTESTMD(bit, m, k)
		VMOVAPS_Z(set, k, r)
		return r
	}
	VPAND(bit, m, r)
	VPCMPEQD(bit, r, r)
	VANDPS(set, r, r)
	return r
}
