package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// product is the number format of the factors of a matrix product. A word is
// one float32, or two bf16 whose products are both added.
type product struct {
	suffix string
	add    instruction // acc += a*b for a, b, acc
}

var (
	fp32 = product{"", VFMADD231PS}
	bf16 = product{"BF16", dpBF16}
)

// genPoints emits the matrix products of Winograd's points.
func genPoints(v isa) {
	for _, p := range v.products {
		for np := range v.points {
			points(v, p, v.rows, np+1)
			pointGrad(v, p, v.rows, np+1)
		}
	}
}

// points emits y[p][r] = sum over k of x[p][r][k] * w[p][k] for all points p and
// rows r, np panels wide. Rows go in tiles of mr and a last one of 4; all add in
// the order of k, so that a row does not depend on the others. Products are bound
// by arithmetic and what follows by memory, so that memory is fetched here.
func points(v isa, pr product, mr, np int) {
	name := fmt.Sprintf("point%dx%d%s", mr, np*16, pr.suffix)
	doc := fmt.Sprintf("computes the products of points, %d columns wide.", np*16)
	v.kernel(name, "pointArgs", doc, func(f *frame) {
		x, y, xPoint, yPoint, wPoint := AllocLocal(8), AllocLocal(8), f.local("x"), f.local("y"), f.local("w")
		rows, left, ahead := AllocLocal(8), f.local("points"), f.local("ahead")
		panels, at := rowOffsets(f, "wPanel", np), rowOffsets(f, "xRow", mr)
		tile := func(label string, mr int) {
			acc := v.grid(mr, np*v.perPanel())
			v.zeroGrid(acc)
			wv, bc := v.vecs(np*v.perPanel()), v.vecs(2)
			xp, w, k := GP64(), GP64(), GP64()
			MOVQ(x, xp)
			MOVQ(wPoint, w)
			MOVQ(f.mem("k"), k)
			Label(label)
			for u := range 8 {
				v.outer(pr, acc, bc, wv, func(i int) Mem { return at(xp, i).Offset(4 * u) }, func(j int) Mem {
					return panels(w, j/v.perPanel()).Offset(u*panelBytes + j%v.perPanel()*v.size)
				})
			}
			ADDQ(Imm(8*4), xp)
			ADDQ(U32(8*panelBytes), w)
			SUBQ(Imm(8), k)
			JNZ(LabelRef(label))
			to, row := GP64(), f.load("aheadRow")
			MOVQ(ahead, to)
			for range 4 {
				for j := range np {
					PREFETCHT0(Mem{Base: to, Disp: j * panelBytes})
				}
				ADDQ(row, to)
			}
			MOVQ(to, ahead)
			row = f.load("yRow")
			MOVQ(y, to)
			v.storeGrid(acc, to, row, false)
			MOVQ(to, y)
			MOVQ(x, xp)
			row = f.load("xRow")
			LEAQ(Mem{Base: xp, Index: row, Scale: uint8(mr)}, xp)
			MOVQ(xp, x)
		}

		loop("point", left, func() {
			moveMem(xPoint, x)
			moveMem(yPoint, y)
			moveMem(f.mem("rows"), rows)
			SUBQ(Imm(uint64(mr)), rows)
			JL(LabelRef("rest"))
			Label("tile")
			tile("k", mr)
			SUBQ(Imm(uint64(mr)), rows)
			JGE(LabelRef("tile"))
			Label("rest")
			if mr > 4 {
				ADDQ(U32(uint32(mr)), rows)
				JZ(LabelRef("done"))
				tile("k4", 4)
				Label("done")
			}
			f.addTo("xPoint", xPoint)
			f.addTo("yPoint", yPoint)
			f.addTo("wPoint", wPoint)
		})
	})
}

// pointGrad emits dst[p][i][j] = sum over s of a[p][s][i] * b[p][s][j] for all
// points p, mr rows by np panels a block.
func pointGrad(v isa, pr product, mr, np int) {
	name := fmt.Sprintf("pointGrad%dx%d%s", mr, np*16, pr.suffix)
	doc := fmt.Sprintf("computes sums of outer products of points in blocks of %d rows by %d columns.", mr, np*16)
	v.kernel(name, "pointGradArgs", doc, func(f *frame) {
		dstPoint, aPoint, bPoint, left, blocks := f.local("dst"), f.local("a"), f.local("b"), f.local("points"), AllocLocal(8)
		acc := v.grid(mr, np*v.perPanel())
		sum, dstRow := v.outerSum(f, pr, acc), f.load("dstRow")
		a, b, dst, ap, count := GP64(), GP64(), GP64(), GP64(), GP64()
		loop("point", left, func() {
			MOVQ(dstPoint, dst)
			MOVQ(aPoint, a)
			MOVQ(f.mem("blocks"), count)
			MOVQ(count, blocks)
			loop("block", blocks, func() {
				v.zeroGrid(acc)
				MOVQ(a, ap)
				MOVQ(bPoint, b)
				MOVQ(f.mem("length"), count)
				sum(ap, b, count)
				v.storeGrid(acc, dst, dstRow, false)
				ADDQ(U32(4*mr), a)
			})
			f.addTo("dstPoint", dstPoint)
			f.addTo("aPoint", aPoint)
			f.addTo("bPoint", bPoint)
		})
	})
}
