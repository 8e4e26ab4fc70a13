package main

import "fmt"

// genWeightGrad emits the outer-product sums of the weight gradients:
// dst[i][j] += sum over s of a[s][i] * b[s][j], mr rows by 16 columns a block.
// 16 accumulators of a block of 4 rows, one quad of a (multiplied by element)
// and four of b, twice: the loads of a step do not wait for the last one's
// products.
func genWeightGrad(o *output) {
	weightGrad(o, "grad", "adds", 4, true)
	weightGrad(o, "grad", "adds", 1, true)
	weightGrad(o, "gradSet", "writes", 4, false)
}

// weightGrad emits the sums; without add they are written over dst.
func weightGrad(o *output, name, verb string, mr int, add bool) {
	name = fmt.Sprintf("%s%dx16", name, mr)
	doc := fmt.Sprintf("%s sums of outer products to blocks of %d rows by 16 columns.", verb, mr)
	o.kernel(name, "gradArgs", doc, func(f *fn) {
		acc, av, bv := f.grid(mr, panelQuads), f.vecs(2), f.grid(2, panelQuads)
		dst, a, blocks := f.field("dst"), f.field("a"), f.field("blocks")
		aStep, bStep, dstRow := f.field("aStep"), f.field("bStep"), f.field("dstRow")
		aOuter, bOuter := f.field("aOuter"), f.field("bOuter")
		ap, bp, inner, outer := f.gp(), f.gp(), f.gp(), f.gp()

		step := func(u int) {
			x, b := av[u%2], bv[u%2]
			if mr == 1 {
				f.ins("FMOVS (%v), F%d", ap, x)
			} else {
				f.load([]vec{x}, ap, 0)
			}
			f.load(b, bp, 0)
			f.add(ap, ap, aStep)
			f.add(bp, bp, bStep)
			for i := range mr {
				for j := range b {
					f.lane("fmla", acc[i][j], b[j], x, i)
				}
			}
		}

		f.loop("block", blocks, func() {
			for _, row := range acc {
				f.zero(row...)
			}
			f.move(ap, a)
			f.into(bp, "b")
			f.into(outer, "outer")
			f.loop("outer", outer, func() {
				f.into(inner, "inner")
				f.chunked("sum", inner, 4, func() {
					for u := range 4 {
						step(u)
					}
				}, func() { step(0) })
				f.add(ap, ap, aOuter)
				f.add(bp, bp, bOuter)
			})
			for _, row := range acc {
				if add {
					f.load(bv[0], dst, 0)
					for j, x := range row {
						f.op("fadd", x, x, bv[0][j])
					}
				}
				f.store(row, dst, 0)
				f.add(dst, dst, dstRow)
			}
			f.advance(4*mr, a)
		})
	})
}
