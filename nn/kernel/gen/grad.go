package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genWeightGrad emits the outer-product sums of the weight gradients:
// dst[i][j] += sum over s of a[s][i] * b[s][j], mr rows by np panels a block.
func genWeightGrad(v isa) {
	if v.size == 64 {
		for _, np := range []int{1, 2, 3} {
			weightGrad(v, 8, np)
			weightGrad(v, 1, np)
		}
		return
	}
	weightGrad(v, 4, 1)
	weightGrad(v, 1, 1)
}

func weightGrad(v isa, mr, np int) {
	name := fmt.Sprintf("grad%dx%d", mr, np*16)
	doc := fmt.Sprintf("adds sums of outer products to blocks of %d rows by %d columns.", mr, np*16)
	v.kernel(name, "gradArgs", doc, func(f *frame) {
		n := np * v.perPanel()
		acc := v.grid(mr, n)
		bv, av := v.vecs(n), v.vecs(min(2, mr))
		dst, a := f.load("dst"), f.load("a")
		aStep, bStep, dstRow := f.load("aStep"), f.load("bStep"), f.load("dstRow")
		ap, bp, inner, outer := GP64(), GP64(), GP64(), GP64()
		step := func(int) {
			v.outer(fp32, acc, ap, bp, av, bv)
			ADDQ(aStep, ap)
			ADDQ(bStep, bp)
		}

		Label("block")
		v.zeroGrid(acc)
		MOVQ(a, ap)
		MOVQ(f.mem("b"), bp)
		MOVQ(f.mem("outer"), outer)
		loop("outer", outer, func() {
			MOVQ(f.mem("inner"), inner)
			unrolled("sum", inner, 4, step, func(int) {})
			ADDQ(f.mem("aOuter"), ap)
			ADDQ(f.mem("bOuter"), bp)
		})
		for i := range acc {
			for j, x := range acc[i] {
				m := Mem{Base: dst, Disp: j * v.size}
				VADDPS(m, x, x)
				VMOVUPS(x, m)
			}
			ADDQ(dstRow, dst)
		}
		ADDQ(U32(4*mr), a)
		DECQ(f.mem("blocks"))
		JNZ(LabelRef("block"))
	})
}

// outer adds the outer product of numbers at a, one a row, and vectors at b; av and bv
// are scratch.
func (v isa) outer(pr product, acc [][]reg.VecVirtual, a, b reg.Register, av, bv []reg.VecVirtual) {
	for j := range bv {
		VMOVUPS(Mem{Base: b, Disp: j * v.size}, bv[j])
	}
	for i, row := range acc {
		x := av[i%len(av)]
		VBROADCASTSS(Mem{Base: a, Disp: 4 * i}, x)
		for j := range bv {
			pr.add(bv[j], x, row[j])
		}
	}
}
