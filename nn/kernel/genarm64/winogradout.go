package main

// fromPoints emits the transform of the points of a board's 4 tiles to its 64
// squares, A^T m A, with bias and floor, and the sums over the board if sums: those of the
// numbers before they are rounded for out.
func fromPoints(o *output, out format, name string, sums bool) {
	o.kernel(name+out.suffix(), "winogradArgs", "transforms the products of a board to its outputs, A^T m A.", func(f *fn) {
		src, dst, n, channel := f.field("src"), f.field("dst"), f.field("n"), f.gp()
		srcRow, half, side, y := f.field("srcRow"), f.gp(), f.gp(), f.gp()
		b := &board{out: out, points: f.gp(), p: f.gp(), tp: f.gp(), loops: f.gp(), plane: f.field("srcPlane"), dstRow: f.field("dstRow")}
		b.transforms, b.at = newTransforms(f, b.p), newPlanes(f, "srcPlane")
		b.m, b.bias, b.floor = f.vecs(6), f.vec(), f.broadcast(b.p, "floor")
		if sums {
			b.total = f.vecs(4)
		}
		f.count(channel, 0)
		f.loop("slice", n, func() {
			f.zero(b.bias)
			f.zero(b.total...)
			f.into(b.p, "bias")
			f.ins("CBZ %v, nobias", b.p)
			f.add(b.p, b.p, channel)
			f.load([]vec{b.bias}, b.p, 0)
			f.label("nobias")
			f.move(b.points, src)
			f.move(y, dst)
			f.times("rankhalf", half, 2, func() {
				f.times("filehalf", side, 2, func() {
					b.tile(y, sums)
					f.add(b.points, b.points, srcRow)
					f.ins("ADD %v<<2, %v, %v", b.dstRow, y, y)
				})
				f.ins("ADD %v<<4, %v, %v", b.dstRow, y, y) // three ranks on
				f.ins("ADD %v<<3, %v, %v", b.dstRow, y, y)
			})
			if sums {
				b.storeSum("sum", b.total[0], b.total[1], channel)
				b.storeSum("squares", b.total[2], b.total[3], channel)
			}
			f.advance(quadBytes, src, channel)
			f.advance(out.bytes(quadBytes), dst)
		})
	})
}

// board is the register plan of the transform to outputs.
type board struct {
	*transforms
	at            *planes
	out           format
	plane, dstRow gp
	points        gp // point 0 of the tile
	p, tp, loops  gp
	m             []vec // six points
	bias, floor   vec
	total         []vec // two sums and two of squares, one each for even and odd files
}

// tile emits the transform of one tile to the squares from y on. temp is
// [4 ranks][6 columns].
func (b *board) tile(y gp, sums bool) {
	f := b.fn
	f.move(b.p, b.points)
	f.into(b.tp, "temp")
	f.times("column", b.loops, 6, func() {
		b.at.load(b.m, b.p)
		b.output(b.m, func(i int, x vec) { f.store([]vec{x}, b.tp, i*6*quadBytes) })
		f.add(b.p, b.p, b.plane)
		f.advance(quadBytes, b.tp)
	})
	f.move(b.p, y)
	f.into(b.tp, "temp")
	f.times("rank", b.loops, 4, func() {
		f.load(b.m, b.tp, 0)
		b.output(b.m, func(i int, x vec) {
			f.op("fadd", x, x, b.bias)
			f.op("fmax", x, x, b.floor)
			if sums {
				f.op("fadd", b.total[i%2], b.total[i%2], x)
				f.op("fmla", b.total[2+i%2], x, x)
			}
			if b.out == halfRows {
				f.convert("bfcvtn", x, x)
				f.ins("VST1.P [V%d.B8], (%v)(%v)", x, b.p, b.dstRow)
			} else {
				f.storeNext(x, b.p, b.dstRow)
			}
		})
		f.ins("ADD %v<<2, %v, %v", b.dstRow, b.p, b.p)
		f.advance(6*quadBytes, b.tp)
	})
}

// storeSum emits the store of even + odd to a field's channel.
func (b *board) storeSum(field string, even, odd vec, channel gp) {
	b.op("fadd", even, even, odd)
	b.into(b.p, field)
	b.fn.add(b.p, b.p, channel)
	b.store([]vec{even}, b.p, 0)
}

// fromWeights emits the transform of weight gradients, G^T u G: src [36] planes
// to dst [9] planes, n quads each. temp is [3 ranks][6 columns].
func fromWeights(o *output) {
	o.kernel("winogradWeightGrad", "winogradArgs", "transforms the gradient of weights, G^T u G.", func(f *fn) {
		src, dst, temp, n := f.field("src"), f.field("dst"), f.field("temp"), f.field("n")
		plane, tap := f.field("srcPlane"), f.field("dstPlane")
		p, tp, loops := f.gp(), f.gp(), f.gp()
		t, at := newTransforms(f, p), newPlanes(f, "srcPlane")
		u := f.vecs(6)
		f.loop("slice", n, func() {
			f.move(p, src)
			f.move(tp, temp)
			f.times("column", loops, 6, func() {
				at.load(u, p)
				t.weightGrad(u, func(i int, x vec) { f.store([]vec{x}, tp, i*6*quadBytes) })
				f.add(p, p, plane)
				f.advance(quadBytes, tp)
			})
			f.move(p, dst)
			f.move(tp, temp)
			f.times("rank", loops, 3, func() {
				f.load(u, tp, 0)
				t.weightGrad(u, func(_ int, x vec) { f.storeNext(x, p, tap) })
				f.advance(6*quadBytes, tp)
			})
			f.advance(quadBytes, src, dst)
		})
	})
}
