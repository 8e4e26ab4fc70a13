package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genReductions emits what reduces whole panels to one number.
func genReductions(v isa) {
	v.kernel("softmax", "flatArgs", "replaces the panels at y and the one at b by their softmax.", func(f *frame) { softmax(v, f) })
	v.kernel("softmaxRows", "normArgs", "replaces rows of y by their softmax.", func(f *frame) { softmaxRows(v, f) })
	v.kernel("softmaxRowsBackward", "normArgs", "sets rows of y to x*(u - sum(u*x)).", func(f *frame) { softmaxRowsBackward(v, f) })
	v.kernel("sumSquares", "squaresArgs", "adds squares to 32 sums.", func(f *frame) { sumSquares(v, f) })
}

// softmax emits the softmax, in place, of n panels at y and one more at b, which
// the caller fills up with -Inf.
func softmax(v isa, f *frame) {
	c := newConstants(v, "zero")
	first, rest, n := f.load("y"), f.load("b"), f.load("n")
	over := func(label string, body func(x Mem)) {
		for h := range v.perPanel() {
			body(Mem{Base: rest, Disp: h * v.size})
		}
		p, left := GP64(), GP64()
		MOVQ(first, p)
		MOVQ(n, left)
		TESTQ(left, left)
		JZ(LabelRef(label + "done"))
		overVectors(v, left, label, []reg.GPVirtual{p}, func(d int) { body(Mem{Base: p, Disp: d}) })
		Label(label + "done")
	}
	softmaxOver(c, v.copyOf(Mem{Base: rest}), over)
}

// softmaxRows emits the softmax, in place, of each of the rows.
func softmaxRows(v isa, f *frame) {
	c := newConstants(v, "zero")
	row, rows := f.load("y"), f.load("rows")
	p, left := GP64(), GP64()
	loop("row", rows, func() {
		softmaxOver(c, v.copyOf(Mem{Base: row}), func(label string, body func(x Mem)) {
			MOVQ(row, p)
			MOVQ(f.mem("panels"), left)
			overVectors(v, left, label, []reg.GPVirtual{p}, func(d int) { body(Mem{Base: p, Disp: d}) })
		})
		MOVQ(p, row)
	})
}

// softmaxRowsBackward emits two passes over each row: the sum, and y, which may lie over u.
func softmaxRowsBackward(v isa, f *frame) {
	rows, off, ptr, acc := f.load("rows"), GP64(), f.pointers("y", "u", "x"), v.vecs(normSums)
	pass := func(label string, body func(i int, at func(string) Mem)) {
		XORQ(off, off)
		overRow(v, f, label, []reg.GPVirtual{off}, func(i, d int) {
			body(i, func(field string) Mem { return Mem{Base: ptr[field], Index: off, Scale: 1, Disp: d} })
		})
	}
	loop("row", rows, func() {
		v.zero(acc...)
		pass("sum", func(i int, at func(string) Mem) { VFMADD231PS(at("x"), v.copyOf(at("u")), acc[i]) })
		sum := total(v, acc)
		pass("result", func(_ int, at func(string) Mem) {
			d := v.copyOf(at("u"))
			VSUBPS(sum, d, d)
			VMULPS(at("x"), d, d)
			VMOVUPS(d, at("y"))
		})
		for _, name := range []string{"y", "u", "x"} {
			ADDQ(off, ptr[name])
		}
	})
}

// softmaxOver emits exp(x-m)/sum exp(x-m), m the maximum, in place, where over emits its
// body for every vector. top is one of them, and is destroyed. Sums run within lanes first.
func softmaxOver(c *constants, top reg.VecVirtual, over func(label string, body func(x Mem))) {
	v, sum := c.v, c.v.vec()
	over("max", func(x Mem) { VMAXPS(x, top, top) })
	v.allLanes(top, VMAXPS)
	v.zero(sum)
	over("exp", func(at Mem) {
		x := v.copyOf(at)
		VSUBPS(top, x, x)
		c.clamp(x, "expMin", "zero")
		e := c.exp(x)
		VMOVUPS(e, at)
		VADDPS(e, sum, sum)
	})
	v.allLanes(sum, VADDPS)
	inv := v.copyOf(c.op("one"))
	VDIVPS(sum, inv, inv)
	over("scale", func(at Mem) {
		VMOVUPS(v.result(VMULPS, at, inv), at)
	})
}

// allLanes combines all lanes of x with op, halves first, into every lane.
func (v isa) allLanes(x reg.VecVirtual, op instruction) {
	t := v.vec()
	if v.size == 64 {
		const swapHalves, swapQuarters = 0x4e, 0xb1 // of the four 128-bit lanes
		VSHUFF32X4(Imm(swapHalves), x, x, t)
		op(t, x, x)
		VSHUFF32X4(Imm(swapQuarters), x, x, t)
	} else {
		VPERM2F128(Imm(1), x, x, t)
	}
	op(t, x, x)
	for _, order := range []uint64{0x4e, 0xb1} { // pairs, then neighbours
		VPERMILPS(Imm(order), x, t)
		op(t, x, x)
	}
}

// squareSums is the number of float64 sums of squares: sum i takes elements
// i, i+32, ... in every instruction set.
const squareSums = 32

// sumSquares emits float64 sums of squares of float32, which are exact.
func sumSquares(v isa, f *frame) {
	lanes := v.size / 8
	x, n, sums := f.load("x"), f.load("n"), f.load("sums")
	acc := v.vecs(squareSums / lanes)
	for i := range acc {
		VMOVUPD(Mem{Base: sums, Disp: i * v.size}, acc[i])
	}
	loop("block", n, func() {
		for i := range acc {
			d := v.vec()
			VCVTPS2PD(Mem{Base: x, Disp: i * v.size / 2}, d)
			VFMADD231PD(d, d, acc[i])
		}
		ADDQ(U32(4*squareSums), x)
	})
	for i := range acc {
		VMOVUPD(acc[i], Mem{Base: sums, Disp: i * v.size})
	}
}
