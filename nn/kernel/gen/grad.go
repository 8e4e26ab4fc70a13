package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genWeightGrad emits the outer-product sums of the weight gradients:
// dst[i][j] += sum over s of a[s][i] * b[s][j], mr rows by np panels a block. In bf16 there are
// full blocks only, and steps of the sum are words.
func genWeightGrad(v isa) {
	for np := range v.panels {
		for _, pr := range v.products {
			weightGrad(v, pr, v.rows, np+1)
		}
		weightGrad(v, fp32, 1, np+1)
	}
}

func weightGrad(v isa, pr product, mr, np int) {
	name := fmt.Sprintf("grad%dx%d%s", mr, np*16, pr.suffix)
	doc := fmt.Sprintf("adds sums of outer products to blocks of %d rows by %d columns.", mr, np*16)
	v.kernel(name, "gradArgs", doc, func(f *frame) {
		acc := v.grid(mr, np*v.perPanel())
		dst, a, sum, dstRow := f.load("dst"), f.load("a"), v.outerSum(f, pr, acc), f.load("dstRow")
		ap, bp, inner, outer := GP64(), GP64(), GP64(), GP64()
		loop("block", f.mem("blocks"), func() {
			v.zeroGrid(acc)
			MOVQ(a, ap)
			MOVQ(f.mem("b"), bp)
			MOVQ(f.mem("outer"), outer)
			loop("outer", outer, func() {
				MOVQ(f.mem("inner"), inner)
				sum(ap, bp, inner)
				ADDQ(f.mem("aOuter"), ap)
				ADDQ(f.mem("bOuter"), bp)
			})
			v.storeGrid(acc, dst, dstRow, true)
			ADDQ(U32(4*mr), a)
		})
	})
}

// outerSum returns what emits the sum of n outer products at a and b, which it moves on
// by the fields aStep and bStep.
func (v isa) outerSum(f *frame, pr product, acc [][]reg.VecVirtual) func(a, b, n reg.Register) {
	bv, av := v.vecs(len(acc[0])), v.vecs(min(2, len(acc)))
	aStep, bStep := f.load("aStep"), f.load("bStep")
	return func(a, b, n reg.Register) {
		unrolled("sum", n, 4, func(int) {
			v.outer(pr, acc, av, bv, func(i int) Mem { return Mem{Base: a, Disp: 4 * i} },
				func(j int) Mem { return Mem{Base: b, Disp: j * v.size} })
			ADDQ(aStep, a)
			ADDQ(bStep, b)
		}, func(int) {})
	}
}

// storeGrid writes accumulators to rows at to, or adds them to what is there, and moves
// to behind the last row.
func (v isa) storeGrid(acc [][]reg.VecVirtual, to, stride reg.Register, add bool) {
	for i := range acc {
		for j, x := range acc[i] {
			m := Mem{Base: to, Disp: j * v.size}
			if add {
				VADDPS(m, x, x)
			}
			VMOVUPS(x, m)
		}
		ADDQ(stride, to)
	}
}
