package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genTranspose emits the transposition of blocks of 16 by 16 floats, in squares of
// as many rows as a vector has floats.
func genTranspose(v isa) {
	v.kernel("transpose16", "transposeArgs", "transposes blocks of 16 rows of 16 floats.", func(f *frame) {
		src, dst, n := f.load("src"), f.load("dst"), f.load("n")
		side := v.size / 4
		loop("block", n, func() {
			for i := 0; i < 16; i += side {
				for j := 0; j < 16; j += side {
					x := make([]reg.VecVirtual, side)
					eachRow(f, "srcRow", src, i, side, func(k int, row reg.Register) {
						x[k] = v.copyOf(Mem{Base: row, Disp: 4 * j})
					})
					x = v.transposed(x)
					eachRow(f, "dstRow", dst, j, side, func(k int, row reg.Register) {
						VMOVUPS(x[k], Mem{Base: row, Disp: 4 * i})
					})
				}
			}
			ADDQ(f.mem("srcStep"), src)
			ADDQ(f.mem("dstStep"), dst)
		})
	})
}

// eachRow emits body for n rows of p from row first, 0 or 8, on.
func eachRow(f *frame, stride string, p reg.Register, first, n int, body func(k int, row reg.Register)) {
	row, step := GP64(), f.load(stride)
	MOVQ(p, row)
	if first == 8 {
		LEAQ(Mem{Base: row, Index: step, Scale: 8}, row)
	}
	for k := range n {
		body(k, row)
		if k < n-1 {
			ADDQ(step, row)
		}
	}
}

// transposed returns the columns of the rows x. Two steps transpose 4 by 4 within
// the 128-bit lanes; then lane l of the vector of rows 4k.. for column m holds
// column 4l+m, and the lanes are exchanged.
func (v isa) transposed(x []reg.VecVirtual) []reg.VecVirtual {
	lanes := func(order uint64, a, b reg.VecVirtual) reg.VecVirtual {
		r := v.vec()
		if v.size == 64 {
			VSHUFF32X4(Imm(order), b, a, r)
		} else {
			VPERM2F128(Imm(order), b, a, r)
		}
		return r
	}
	n := len(x)
	for k := 0; k < n; k += 4 {
		r0, r1 := v.result(VUNPCKLPS, x[k+1], x[k]), v.result(VUNPCKHPS, x[k+1], x[k])
		r2, r3 := v.result(VUNPCKLPS, x[k+3], x[k+2]), v.result(VUNPCKHPS, x[k+3], x[k+2])
		x[k], x[k+1] = v.result(VUNPCKLPD, r2, r0), v.result(VUNPCKHPD, r2, r0)
		x[k+2], x[k+3] = v.result(VUNPCKLPD, r3, r1), v.result(VUNPCKHPD, r3, r1)
	}
	y := make([]reg.VecVirtual, n)
	for m := range 4 {
		if v.size == 32 {
			const lowLanes, highLanes = 0x20, 0x31
			y[m], y[4+m] = lanes(lowLanes, x[m], x[4+m]), lanes(highLanes, x[m], x[4+m])
			continue
		}
		const even, odd = 0x88, 0xdd // lanes 0 and 2, or 1 and 3, of both
		p, q := lanes(even, x[m], x[4+m]), lanes(odd, x[m], x[4+m])
		r, s := lanes(even, x[8+m], x[12+m]), lanes(odd, x[8+m], x[12+m])
		y[m], y[8+m] = lanes(even, p, r), lanes(odd, p, r)
		y[4+m], y[12+m] = lanes(even, q, s), lanes(odd, q, s)
	}
	return y
}
