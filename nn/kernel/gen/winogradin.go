package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// inputHeld emits the transform of boards [64] to the 36 points of its 4 tiles,
// as toPoints does, with what lies between the two transforms in registers: two
// columns of points, which share what they need, on 8 ranks at a time. Stores
// cost more here than reading the squares three times.
func inputHeld(v isa, out format, name, doc string) {
	v.kernel(name+out.suffix(), "winogradArgs", doc, func(fr *frame) {
		t := newTransforms(v, inputFactors...)
		src, dst, n := GP64(), AllocLocal(8), AllocLocal(8)
		files := rowOffsets(fr, "srcRow", 8)
		row, plane := fr.load("dstRow"), fr.load("dstPlane")
		at, pack := newPlanes(plane), newPacker(out)
		overBoards(fr, src, dst, n, func() {
			loop("slice", n, func() {
				for half := range 2 {
					for pair := range inputPairs {
						Comment(fmt.Sprintf("file half %d, columns %d of 3", half, pair+1))
						points, columns := inputColumns(t, fr, files, src, half, pair)
						for i, c := range columns {
							q := GP64()
							MOVQ(dst, q)
							if half == 1 {
								ADDQ(row, q)
							}
							addTimes(q, plane, points[i])
							storeColumn(t, pack, at, q, row, c, half)
						}
					}
				}
				ADDQ(U32(uint32(v.size)), src)
				ADDQ(U32(uint32(out.bytes(v.size))), dst)
			})
		})
	})
}

// inputColumns transforms the squares of a file half, on 8 ranks, to two columns of
// points, and says which they are.
func inputColumns(t *transforms, fr *frame, files func(reg.Register, int) Mem, src reg.Register, half, pair int) (points [2]int, columns [2][8]reg.VecVirtual) {
	p, step := GP64(), fr.load("srcRow")
	MOVQ(src, p)
	for rank := range 8 {
		var x [2]reg.VecVirtual
		points, x = t.inputPair(pair, func(i int) Op {
			if f := 4*half - 1 + i; f >= 0 && f < 8 {
				return files(p, f)
			}
			return nil
		})
		columns[0][rank], columns[1][rank] = x[0], x[1]
		if rank < 7 {
			LEAQ(Mem{Base: p, Index: step, Scale: 8}, p)
		}
	}
	return points, columns
}

// storeColumn transforms a column on 8 ranks to the points of two tiles, of which
// the first begins at q and the other two rows on.
func storeColumn(t *transforms, pack *packer, at planes, q, row reg.Register, column [8]reg.VecVirtual, half int) {
	for rank := range 2 {
		d := make([]reg.VecVirtual, 6)
		for i := range d {
			if r := 4*rank - 1 + i; r >= 0 && r < 8 {
				d[i] = column[r]
			}
		}
		t.input(d, func(i int, x reg.VecVirtual) { pack.store(x, at.at(q, i), half, i) })
		if rank == 0 {
			LEAQ(Mem{Base: q, Index: row, Scale: 2}, q)
		}
	}
}

// addTimes adds n strides, 0 to 5, to p.
func addTimes(p, stride reg.Register, n int) {
	for _, scale := range []int{4, 2, 1} {
		if n >= scale {
			LEAQ(Mem{Base: p, Index: stride, Scale: uint8(scale)}, p)
			n -= scale
		}
	}
}
