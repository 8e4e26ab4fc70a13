package main

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genSparse emits what sparse nets need: lists of rows, and their activation.
func genSparse(v isa) {
	flat(v, "flatSquare", "sets y = min(max(a,0),alpha)^2.", func(a, _ Mem, alpha, zero reg.VecVirtual) reg.VecVirtual {
		x := v.copyOf(a)
		VMAXPS(x, zero, x)
		VMINPS(x, alpha, x)
		VMULPS(x, x, x)
		return x
	})
	flat(v, "flatSquareBackward", "sets y = 2*a*b where 0 < b < alpha, else 0.", func(a, b Mem, alpha, zero reg.VecVirtual) reg.VecVirtual {
		x := v.maskPositive(b, b, zero)
		x = v.where(lessOrderedQuiet, x, alpha, x)
		VADDPS(x, x, x)
		VMULPS(a, x, x)
		return x
	})
	rowList(v, "rowsSum", "adds the rows of a list, times their weights, to x.", true, func(x reg.VecVirtual, row Mem, weight reg.VecVirtual) {
		VFMADD231PS(row, weight, x)
	})
	rowList(v, "rowsAdd", "adds x, times their weights, to the rows of a list.", false, func(x reg.VecVirtual, row Mem, weight reg.VecVirtual) {
		sum := v.copyOf(row)
		VFMADD231PS(x, weight, sum)
		VMOVUPS(sum, row)
	})
	rowDots(v, floats)
	if slices.Contains(v.formats, halfRows) {
		packedSums(v)
		rowDots(v, halfRows)
	}
}

// rowBlock is bytes of a block of a row, kernel.RowBlock floats.
const rowBlock = 4 * panelBytes

// rowList emits a pass over the rows of a list, with a block of x in registers, for each
// block of their width. store says that the block is changed, and written at the end.
func rowList(v isa, name, doc string, store bool, op func(x reg.VecVirtual, row Mem, weight reg.VecVirtual)) {
	v.kernel(name, "rowsArgs", doc, func(f *frame) {
		step, table, stride := f.load("step"), f.load("table"), f.load("stride")
		rowBlocks(v, f, floats, table, store, func(x []reg.VecVirtual, list, weights reg.GPVirtual) {
			row, weight := rowAt(list, table, stride), v.vec()
			VBROADCASTSS(Mem{Base: weights}, weight)
			for i, r := range x {
				op(r, Mem{Base: row, Disp: i * v.size}, weight)
			}
			ADDQ(step, weights)
		})
	})
}

// packedSums emits sums of rows that kernel.PackRows packed.
func packedSums(v isa) {
	v.kernel("rowsSum"+halfRows.suffix(), "rowsArgs", "adds the packed rows of a list to x.", func(f *frame) {
		table, stride := f.load("table"), f.load("stride")
		rowBlocks(v, f, halfRows, table, true, func(x []reg.VecVirtual, list, _ reg.GPVirtual) {
			row := rowAt(list, table, stride)
			for i := 0; i < len(x); i += 2 {
				words, low := v.copyOf(Mem{Base: row, Disp: i / 2 * v.size}), v.vec()
				VPSLLD(Imm(16), words, low)
				VADDPS(low, x[i], x[i])
				VADDPS(words, x[i+1], x[i+1])
			}
		})
	})
}

// rowDots emits the products of sums of rows, one of each list, with x, which it adds to
// the weights. With rows in bf16, x is rounded to it.
func rowDots(v isa, s format) {
	v.kernel("rowsDot"+s.suffix(), "rowsArgs", "adds the products of sums of rows, one of each list, with x to weights.", func(f *frame) {
		apart, table, stride := f.load("apart"), f.load("table"), f.load("stride")
		at, lists := GP64(), GP64()
		rowBlocks(v, f, s, table, false, func(x []reg.VecVirtual, list, weights reg.GPVirtual) {
			sums := v.vecs(4)
			v.zero(sums...)
			MOVQ(list, at)
			MOVQ(f.mem("lists"), lists)
			loop("list", lists, func() {
				row := rowAt(at, table, stride)
				for i, r := range x {
					m := Mem{Base: row, Disp: i * v.size}
					if s == floats {
						VFMADD231PS(m, r, sums[i%len(sums)])
					} else {
						dpBF16(v.copyOf(m), r, sums[i%len(sums)])
					}
				}
				ADDQ(apart, at)
			})
			VADDPS(sums[1], sums[0], sums[0])
			VADDPS(sums[3], sums[2], sums[2])
			VADDPS(sums[2], sums[0], sums[0])
			v.allLanes(sums[0], VADDPS)
			sum := sums[0].AsX()
			VADDSS(Mem{Base: weights}, sum, sum)
			VMOVSS(sum, Mem{Base: weights})
			ADDQ(Imm(4), weights)
		})
	})
}

// rowAt returns the row that the next number of a list names.
func rowAt(list, table, stride reg.GPVirtual) reg.GPVirtual {
	row := GP64()
	MOVWQZX(Mem{Base: list}, row)
	IMULQ(stride, row)
	ADDQ(table, row)
	return row
}

// rowBlocks emits body for each row of a list, within each block of the width, of which x
// has that block in registers, and writes x back if store. body goes on with the weights.
// Rows are stored in s; where x is not written, it is rounded to that.
func rowBlocks(v isa, f *frame, s format, table reg.GPVirtual, store bool, body func(x []reg.VecVirtual, list, weights reg.GPVirtual)) {
	x, blocks := f.load("x"), f.local("blocks")
	list, weights, left := GP64(), GP64(), GP64()
	registers := v.vecs(rowBlock / v.size)
	loop("block", blocks, func() {
		MOVQ(f.mem("rows"), list)
		MOVQ(f.mem("weights"), weights)
		MOVQ(f.mem("n"), left)
		for i, r := range registers {
			VMOVUPS(Mem{Base: x, Disp: i * v.size}, r)
		}
		factors := registers
		if s == halfRows && !store {
			factors = []reg.VecVirtual{toBF16Halves(registers[0], registers[1]), toBF16Halves(registers[2], registers[3])}
		}
		loop("row", left, func() {
			body(factors, list, weights)
			ADDQ(Imm(2), list)
		})
		if store {
			for i, r := range registers {
				VMOVUPS(r, Mem{Base: x, Disp: i * v.size})
			}
		}
		ADDQ(U32(uint32(s.bytes(rowBlock))), table)
		ADDQ(U32(rowBlock), x)
	})
}
