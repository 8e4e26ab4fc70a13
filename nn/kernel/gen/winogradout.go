package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fromPoints emits the transform of the points of a board's 4 tiles to its 64
// squares, A^T m A, with bias and floor, and the sums over the board if sums: those
// of the numbers before they are rounded for out.
func fromPoints(v isa, out storage, name string, sums bool) {
	v.kernel(name+out.suffix(), "winogradArgs", "transforms the products of a board to its outputs, A^T m A.", func(f *frame) {
		t := newTransforms(v, outputFactors...)
		src, dst, temp, n := f.local("src"), f.local("dst"), f.load("temp"), f.local("n")
		half, side := AllocLocal(8), AllocLocal(8)
		at := newPlanes(f.load("srcPlane"))
		bias, total := v.vec(), v.vecs(4)
		channel := GP64() // bytes from the first channel
		XORQ(channel, channel)
		loop("slice", n, func() {
			v.zero(bias)
			b := f.load("bias")
			TESTQ(b, b)
			JZ(LabelRef("nobias"))
			VMOVUPS(Mem{Base: b, Index: channel, Scale: 1}, bias)
			Label("nobias")
			if sums {
				for _, s := range total {
					v.zero(s)
				}
			}
			m, y := GP64(), GP64()
			MOVQ(src, m)
			MOVQ(dst, y)
			MOVQ(U32(2), half)
			loop("rankhalf", half, func() {
				MOVQ(U32(2), side)
				loop("filehalf", side, func() {
					outputTile(t, f, out, at, m, y, temp, bias, total, sums)
					ADDQ(f.mem("srcRow"), m)
					row := f.load("dstRow")
					LEAQ(Mem{Base: y, Index: row, Scale: 4}, y)
				})
				// 3 ranks and the file's half back: the loop went 8 squares on.
				row := f.load("dstRow")
				SHLQ(Imm(3), row)
				LEAQ(Mem{Base: row, Index: row, Scale: 2}, row)
				ADDQ(row, y)
			})
			if sums {
				VADDPS(total[0], total[1], total[0])
				VADDPS(total[2], total[3], total[2])
				s := f.load("sum")
				VMOVUPS(total[0], Mem{Base: s, Index: channel, Scale: 1})
				s = f.load("squares")
				VMOVUPS(total[2], Mem{Base: s, Index: channel, Scale: 1})
			}
			ADDQ(U32(uint32(v.size)), src)
			ADDQ(U32(uint32(out.bytes(v.size))), dst)
			ADDQ(U32(uint32(v.size)), channel)
		})
	})
}

// outputTile emits the transform of one tile: m points at point 0, y at the
// tile's first square. total are two sums and two sums of squares, one each for
// even and odd files.
func outputTile(t *transforms, f *frame, out storage, at planes, m, y, temp reg.Register, bias reg.VecVirtual, total []reg.VecVirtual, sums bool) {
	v := t.v
	p, tp, count := GP64(), GP64(), GP64()
	MOVQ(m, p)
	MOVQ(temp, tp)
	MOVQ(U32(6), count)
	loop("column", count, func() {
		t.output(v.loadSix(func(i int) Mem { return at.at(p, i) }), func(i int, x reg.VecVirtual) {
			VMOVUPS(x, Mem{Base: tp, Disp: i * 6 * v.size})
		})
		ADDQ(f.mem("srcPlane"), p)
		ADDQ(U32(uint32(v.size)), tp)
	})
	row := f.load("dstRow")
	row3 := GP64()
	LEAQ(Mem{Base: row, Index: row, Scale: 2}, row3)
	floor := f.broadcast(v, "floor")
	MOVQ(temp, tp)
	MOVQ(y, p)
	MOVQ(U32(4), count)
	loop("rank", count, func() {
		t.output(v.loadSix(func(i int) Mem { return Mem{Base: tp, Disp: i * v.size} }), func(i int, x reg.VecVirtual) {
			r := t.add(x, bias)
			// The second operand wins when one is NaN: NaN passes.
			VMAXPS(r, floor, r)
			if sums {
				VADDPS(r, total[i%2], total[i%2])
				VFMADD231PS(r, r, total[2+i%2])
			}
			out.store(r, [4]Mem{
				{Base: p},
				{Base: p, Index: row, Scale: 1},
				{Base: p, Index: row, Scale: 2},
				{Base: p, Index: row3, Scale: 1},
			}[i])
		})
		LEAQ(Mem{Base: p, Index: row, Scale: 8}, p)
		ADDQ(U32(uint32(6*v.size)), tp)
	})
}

// loadSix loads six vectors.
func (v isa) loadSix(mem func(i int) Mem) []reg.VecVirtual {
	x := v.vecs(6)
	for i, r := range x {
		VMOVUPS(mem(i), r)
	}
	return x
}

// toWeights emits the transform of a panel of weights, G g G^T: src [9 taps at
// srcPlane][input channels at srcRow][16] to dst [36][input channels][16], in
// bf16 with pairs of input channels in a word.
func toWeights(v isa, out format) {
	channels := 1 // input channels at a time
	if out == halfRows {
		channels = 2
		out = halfPairs // the packer's pairs are channels here
	}
	name := "winogradWeights"
	if channels == 2 {
		name += "Half"
	}
	v.kernel(name, "winogradArgs", "transforms weights, G g G^T.", func(f *frame) {
		t := newTransforms(v, weightFactors...)
		src, dst, temp, n := f.load("src"), f.load("dst"), f.load("temp"), f.load("n")
		plane := f.load("dstPlane")
		at := newPlanes(plane)
		pack := newPacker(out)
		loop("slice", n, func() {
			tap := f.load("srcPlane")
			for c := range channels {
				p, tp, count := GP64(), GP64(), GP64()
				MOVQ(src, p)
				LEAQ(Mem{Base: temp, Disp: c * 18 * v.size}, tp)
				MOVQ(U32(3), count)
				loop([]string{"rank", "rank2"}[c], count, func() {
					g := v.vecs(3)
					VMOVUPS(Mem{Base: p}, g[0])
					VMOVUPS(Mem{Base: p, Index: tap, Scale: 1}, g[1])
					VMOVUPS(Mem{Base: p, Index: tap, Scale: 2}, g[2])
					t.weights(g, func(j int, x reg.VecVirtual) { VMOVUPS(x, Mem{Base: tp, Disp: j * 3 * v.size}) })
					LEAQ(Mem{Base: p, Index: tap, Scale: 2}, p)
					ADDQ(tap, p)
					ADDQ(U32(uint32(v.size)), tp)
				})
				ADDQ(f.mem("srcRow"), src)
			}
			q, tp, count := GP64(), GP64(), GP64()
			MOVQ(dst, q)
			MOVQ(temp, tp)
			MOVQ(U32(6), count)
			loop("column", count, func() {
				for c := range channels {
					g := v.vecs(3)
					for r := range g {
						VMOVUPS(Mem{Base: tp, Disp: (c*18 + r) * v.size}, g[r])
					}
					t.weights(g, func(i int, x reg.VecVirtual) { pack.store(x, at.at(q, i), c, i) })
				}
				ADDQ(plane, q)
				ADDQ(U32(uint32(3*v.size)), tp)
			})
			ADDQ(f.mem("dstRow"), dst)
		})
	})
}

// fromWeights emits the transform of weight gradients, G^T u G: src [36] planes
// to dst [9] planes, n vectors each.
func fromWeights(v isa) {
	v.kernel("winogradWeightGrad", "winogradArgs", "transforms the gradient of weights, G^T u G.", func(f *frame) {
		t := newTransforms(v, weightFactors...)
		src, dst, temp, n := f.load("src"), f.load("dst"), f.load("temp"), f.load("n")
		plane, tap := f.load("srcPlane"), f.load("dstPlane")
		at := newPlanes(plane)
		loop("slice", n, func() {
			p, tp, count := GP64(), GP64(), GP64()
			MOVQ(src, p)
			MOVQ(temp, tp)
			MOVQ(U32(6), count)
			loop("column", count, func() {
				t.weightGrad(v.loadSix(func(i int) Mem { return at.at(p, i) }), func(i int, x reg.VecVirtual) {
					VMOVUPS(x, Mem{Base: tp, Disp: i * 6 * v.size})
				})
				ADDQ(plane, p)
				ADDQ(U32(uint32(v.size)), tp)
			})
			MOVQ(dst, p)
			MOVQ(temp, tp)
			MOVQ(U32(3), count)
			loop("rank", count, func() {
				t.weightGrad(v.loadSix(func(i int) Mem { return Mem{Base: tp, Disp: i * v.size} }), func(i int, x reg.VecVirtual) {
					VMOVUPS(x, [3]Mem{{Base: p}, {Base: p, Index: tap, Scale: 1}, {Base: p, Index: tap, Scale: 2}}[i])
				})
				LEAQ(Mem{Base: p, Index: tap, Scale: 2}, p)
				ADDQ(tap, p)
				ADDQ(U32(uint32(6*v.size)), tp)
			})
			ADDQ(U32(uint32(v.size)), src)
			ADDQ(U32(uint32(v.size)), dst)
		})
	})
}
