package main

// Winograd's F(4x4,3x3) for NEON; nn/kernel/gen describes the layout of points.
// A slice is one quad of channels. A two-dimensional transform is a
// one-dimensional one along files into temp and then one along ranks.

// genWinograd emits the transforms.
func genWinograd(o *output) {
	genFactors(o)
	for _, out := range []format{floats, halfRows, halfTiles} {
		toPoints(o, out, "winogradInput", "transforms a board, B^T d B.", (*transforms).input, -1, 6)
		if out != halfRows {
			toPoints(o, out, "winogradOutputGrad", "transforms the gradient of a board's outputs, A y A^T.", (*transforms).outputGrad, 0, 4)
		}
	}
	toWeights(o)
	toHalfWeights(o)
	fromPoints(o, floats, "winogradOutput", false)
	fromPoints(o, floats, "winogradOutputSums", true)
	fromPoints(o, halfRows, "winogradOutputSums", true)
	fromWeights(o)
}

// planes addresses planes 0, 6, ... 30 from a pointer: the points of one column.
type planes struct {
	*fn
	offsets [6]gp // [0] is not used
	tmp     gp
}

// newPlanes computes the offsets of planes whose stride is a field.
func newPlanes(f *fn, field string) *planes {
	p := &planes{fn: f, tmp: f.gp()}
	f.into(p.tmp, field)
	copy(p.offsets[1:], f.gps(5))
	f.ins("ADD %v<<1, %v, %v", p.tmp, p.tmp, p.offsets[1])
	f.ins("LSL $1, %v, %v", p.offsets[1], p.offsets[1])
	for i := 2; i < 6; i++ {
		f.add(p.offsets[i], p.offsets[i-1], p.offsets[1])
	}
	return p
}

// at returns a register that points to plane 6*i from base.
func (p *planes) at(base gp, i int) gp {
	if i == 0 {
		return base
	}
	p.add(p.tmp, base, p.offsets[i])
	return p.tmp
}

// load reads the six points of the column at base.
func (p *planes) load(x []vec, base gp) {
	for i, v := range x {
		p.fn.load([]vec{v}, p.at(base, i), 0)
	}
}

// next reads or writes one quad at r and moves r on by a stride in a register.
func (f *fn) loadNext(v vec, r, stride gp)  { f.ins("VLD1.P (%v)(%v), [V%d.B16]", r, stride, v) }
func (f *fn) storeNext(v vec, r, stride gp) { f.ins("VST1.P [V%d.B16], (%v)(%v)", v, r, stride) }

// count loads a constant into a register.
func (f *fn) count(r gp, n int) { f.ins("MOVD $%d, %v", n, r) }

// times is loop with a number that is known, in the register r.
func (f *fn) times(label string, r gp, n int, body func()) {
	f.count(r, n)
	f.loop(label, r, body)
}

// toPoints emits a transform of a board [64] to the 36 points of its 4 tiles. A
// tile half h reads width squares from 4*h + first on, along files and ranks.
// temp is [12 columns: half*6 + point][8 ranks].
func toPoints(o *output, out format, name, doc string, transform func(t *transforms, x []vec, emit func(i int, x vec)), first, width int) {
	const column = 8 * quadBytes
	o.kernel(name+out.suffix(), "winogradArgs", doc, func(f *fn) {
		src, dst, temp, n := f.field("src"), f.field("dst"), f.field("temp"), f.field("n")
		srcRow, dstRow, plane := f.field("srcRow"), f.field("dstRow"), f.field("dstPlane")
		p, q, r, tp, loops := f.gp(), f.gp(), f.gp(), f.gp(), f.gp()
		t, at := newTransforms(f, p), newPlanes(f, "dstPlane")
		all, pack := f.vecs(width), newPacker(f, out)
		// squares returns the registers of a half and those of them on the board.
		squares := func(half int) (d, on []vec) {
			d = append(d, all...)
			for i := range d {
				if sq := 4*half + first + i; sq < 0 || sq > 7 {
					d[i] = outside
				} else {
					on = append(on, d[i])
				}
			}
			return d, on
		}
		f.loop("slice", n, func() {
			f.move(p, src)
			f.move(tp, temp)
			f.times("rank", loops, 8, func() {
				f.move(q, p)
				for half := range 2 {
					d, on := squares(half)
					if half == 1 { // squares 4 + first to 7
						f.ins("ADD %v<<2, %v, %v", srcRow, p, q)
						if first < 0 {
							f.ins("SUB %v, %v, %v", srcRow, q, q)
						}
					}
					for _, v := range on {
						f.loadNext(v, q, srcRow)
					}
					transform(t, d, func(j int, x vec) { f.store([]vec{x}, tp, (half*6+j)*column) })
				}
				f.move(p, q)
				f.advance(quadBytes, tp)
			})
			f.move(q, dst)
			f.move(tp, temp)
			f.times("column", loops, 6, func() {
				f.move(r, q)
				for rank := range 2 {
					for file := range 2 {
						d, on := squares(rank)
						f.load(on, tp, file*6*column+max(0, 4*rank+first)*quadBytes)
						transform(t, d, func(i int, x vec) { pack.store(x, rank*2+file, i, func() gp { return at.at(r, i) }) })
						if out != halfTiles {
							f.add(r, r, dstRow)
						}
					}
				}
				f.add(q, q, plane)
				f.advance(column, tp)
			})
			f.advance(quadBytes, src)
			f.advance(out.bytes(quadBytes), dst)
		})
	})
}

// toWeights emits the transform of a quad of weights, G g G^T: src [9 taps at
// srcPlane][input channels at srcRow] to dst [36][input channels at dstRow].
// temp is [6 points][3 ranks].
func toWeights(o *output) {
	o.kernel("winogradWeights", "winogradArgs", "transforms weights, G g G^T.", func(f *fn) {
		src, dst, temp, n := f.field("src"), f.field("dst"), f.field("temp"), f.field("n")
		srcRow, dstRow, tap, plane := f.field("srcRow"), f.field("dstRow"), f.field("srcPlane"), f.field("dstPlane")
		p, tp, loops := f.gp(), f.gp(), f.gp()
		t, at := newTransforms(f, p), newPlanes(f, "dstPlane")
		g := f.vecs(3)
		f.loop("slice", n, func() {
			f.move(p, src)
			f.move(tp, temp)
			weightRanks(f, t, g, p, tp, tap, loops)
			f.move(p, dst)
			f.move(tp, temp)
			f.times("column", loops, 6, func() {
				f.load(g, tp, 0)
				t.weights(g, func(i int, x vec) { f.store([]vec{x}, at.at(p, i), 0) })
				f.add(p, p, plane)
				f.advance(3*quadBytes, tp)
			})
			f.add(src, src, srcRow)
			f.add(dst, dst, dstRow)
		})
	})
}

// weightRanks transforms the three ranks of a quad of weights, from p on, to temp at tp.
func weightRanks(f *fn, t *transforms, g []vec, p, tp, tap, loops gp) {
	f.times("rank", loops, 3, func() {
		for _, v := range g {
			f.loadNext(v, p, tap)
		}
		t.weights(g, func(j int, x vec) { f.store([]vec{x}, tp, j*3*quadBytes) })
		f.advance(quadBytes, tp)
	})
}

// toHalfWeights is toWeights to bf16, of four input channels at a time: dst is
// [36][pairs of words][16 output channels][2 words], dstRow the stride of a word.
// temp is [4 input channels][6 points][3 ranks].
func toHalfWeights(o *output) {
	const channels, channel = 4, 18 * quadBytes
	o.kernel("winogradWeightsHalf", "winogradArgs", "transforms weights, G g G^T.", func(f *fn) {
		src, dst, temp, n := f.field("src"), f.field("dst"), f.field("temp"), f.field("n")
		srcRow, dstRow, tap, plane := f.field("srcRow"), f.field("dstRow"), f.field("srcPlane"), f.field("dstPlane")
		p, tp, loops, outer := f.gp(), f.gp(), f.gp(), f.gp()
		t, at := newTransforms(f, p), newPlanes(f, "dstPlane")
		g, pack := f.vecs(3), newPacker(f, halfTiles)
		f.ins("LSR $1, %v, %v", n, n) // slices of two words
		f.loop("slice", n, func() {
			f.move(tp, temp)
			f.times("channel", outer, channels, func() {
				f.move(p, src)
				weightRanks(f, t, g, p, tp, tap, loops)
				f.add(src, src, srcRow)
				f.advance(channel-3*quadBytes, tp)
			})
			f.move(p, dst)
			f.move(tp, temp)
			f.times("column", loops, 6, func() {
				for c := range channels {
					f.load(g, tp, c*channel)
					t.weights(g, func(i int, x vec) { pack.store(x, c, i, func() gp { return at.at(p, i) }) })
				}
				f.add(p, p, plane)
				f.advance(3*quadBytes, tp)
			})
			f.ins("ADD %v<<1, %v, %v", dstRow, dst, dst)
		})
	})
}
