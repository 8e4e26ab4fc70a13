package main

import (
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
	rowDots(v)
}

// rowBlock is bytes of a block of a row, kernel.RowBlock floats.
const rowBlock = 4 * panelBytes

// rowList emits a pass over the rows of a list, with a block of x in registers, for each
// block of their width. store says that the block is changed, and written at the end.
func rowList(v isa, name, doc string, store bool, op func(x reg.VecVirtual, row Mem, weight reg.VecVirtual)) {
	rowBlocks(v, name, doc, func(x []reg.VecVirtual, row, weights reg.GPVirtual) {
		weight := v.vec()
		VBROADCASTSS(Mem{Base: weights}, weight)
		for i, r := range x {
			op(r, Mem{Base: row, Disp: i * v.size}, weight)
		}
	}, store)
}

// rowDots emits the products of the rows of a list with x, which it adds to the weights.
func rowDots(v isa) {
	rowBlocks(v, "rowsDot", "adds the products of the rows of a list with x to weights.", func(x []reg.VecVirtual, row, weights reg.GPVirtual) {
		sums := v.vecs(2)
		for i, r := range x {
			if m := (Mem{Base: row, Disp: i * v.size}); i < len(sums) {
				VMULPS(m, r, sums[i])
			} else {
				VFMADD231PS(m, r, sums[i%len(sums)])
			}
		}
		VADDPS(sums[1], sums[0], sums[0])
		v.allLanes(sums[0], VADDPS)
		sum := sums[0].AsX()
		VADDSS(Mem{Base: weights}, sum, sum)
		VMOVSS(sum, Mem{Base: weights})
	}, false)
}

// rowBlocks emits body for each row of a list, within each block of the width, of which x
// has that block in registers, and writes x back if store. weights points to the row's.
func rowBlocks(v isa, name, doc string, body func(x []reg.VecVirtual, row, weights reg.GPVirtual), store bool) {
	v.kernel(name, "rowsArgs", doc, func(f *frame) {
		table, x, stride, step := f.load("table"), f.load("x"), f.load("stride"), f.load("step")
		blocks := f.local("blocks")
		list, weights, left, row := GP64(), GP64(), GP64(), GP64()
		registers := v.vecs(rowBlock / v.size)
		loop("block", blocks, func() {
			MOVQ(f.mem("rows"), list)
			MOVQ(f.mem("weights"), weights)
			MOVQ(f.mem("n"), left)
			for i, r := range registers {
				VMOVUPS(Mem{Base: x, Disp: i * v.size}, r)
			}
			loop("row", left, func() {
				MOVWQZX(Mem{Base: list}, row)
				IMULQ(stride, row)
				ADDQ(table, row)
				body(registers, row, weights)
				ADDQ(Imm(2), list)
				ADDQ(step, weights)
			})
			if store {
				for i, r := range registers {
					VMOVUPS(r, Mem{Base: x, Disp: i * v.size})
				}
			}
			ADDQ(U32(rowBlock), table)
			ADDQ(U32(rowBlock), x)
		})
	})
}
