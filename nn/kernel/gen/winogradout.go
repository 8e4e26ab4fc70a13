package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fromPoints emits the transform of the points of a board's 4 tiles to its 64
// squares, A^T m A, with bias and floor, and the sums over the board if sums: those
// of the numbers before they are rounded for out.
func fromPoints(v isa, out format, name string, sums bool) {
	v.kernel(name+out.suffix(), "winogradArgs", "transforms the products of a board to its outputs, A^T m A.", func(f *frame) {
		w := tileWriter{transforms: newTransforms(v, outputFactors...), f: f, out: out, sums: sums}
		src, dst, n := AllocLocal(8), AllocLocal(8), AllocLocal(8)
		if v.size == 32 {
			w.temp = f.load("temp")
		}
		half, side := AllocLocal(8), AllocLocal(8)
		w.at, w.bias, w.total = newPlanes(f.load("srcPlane")), v.vec(), v.vecs(4)
		channel := GP64()         // bytes from the first channel
		sumBoard := AllocLocal(8) // bytes to the board's sums
		MOVQ(U32(0), sumBoard)
		overBoards(f, src, dst, n, func() {
			XORQ(channel, channel)
			loop("slice", n, func() {
				v.zero(w.bias)
				b := f.load("bias")
				TESTQ(b, b)
				JZ(LabelRef("nobias"))
				VMOVUPS(Mem{Base: b, Index: channel, Scale: 1}, w.bias)
				Label("nobias")
				if sums {
					v.zero(w.total...)
				}
				m, y := GP64(), GP64()
				MOVQ(src, m)
				MOVQ(dst, y)
				times("rankhalf", half, 2, func() {
					times("filehalf", side, 2, func() {
						w.write(m, y)
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
					VADDPS(w.total[0], w.total[1], w.total[0])
					VADDPS(w.total[2], w.total[3], w.total[2])
					for i, field := range []string{"sum", "squares"} {
						s := f.load(field)
						ADDQ(sumBoard, s)
						VMOVUPS(w.total[2*i], Mem{Base: s, Index: channel, Scale: 1})
					}
				}
				ADDQ(U32(uint32(v.size)), src)
				ADDQ(U32(uint32(out.bytes(v.size))), dst)
				ADDQ(U32(uint32(v.size)), channel)
			})
			if sums {
				f.addTo("sumBoard", sumBoard)
			}
		})
	})
}

// tileWriter transforms the points of a tile to squares.
type tileWriter struct {
	*transforms
	f           *frame
	out         format
	sums        bool
	at          planes
	temp        reg.Register // nil where ranks stay in registers
	bias, floor reg.VecVirtual
	total       []reg.VecVirtual // two sums and two sums of squares, one each for even and odd files
	row, row3   reg.GPVirtual    // strides of one and of three squares
}

// write emits the transform of one tile: m points at point 0, y at the tile's first square.
func (w *tileWriter) write(m, y reg.Register) {
	if w.temp == nil {
		w.writeHeld(m, y)
		return
	}
	v, p, tp, count := w.v, GP64(), GP64(), GP64()
	MOVQ(m, p)
	MOVQ(w.temp, tp)
	times("column", count, 6, func() {
		w.output(v.loadAll(6, func(i int) Mem { return w.at.at(p, i) }), func(i int, x reg.VecVirtual) {
			VMOVUPS(x, Mem{Base: tp, Disp: i * 6 * v.size})
		})
		ADDQ(w.f.mem("srcPlane"), p)
		ADDQ(U32(uint32(v.size)), tp)
	})
	w.load()
	MOVQ(w.temp, tp)
	MOVQ(y, p)
	times("rank", count, 4, func() {
		w.rank(p, v.loadAll(6, func(i int) Mem { return Mem{Base: tp, Disp: i * v.size} }))
		LEAQ(Mem{Base: p, Index: w.row, Scale: 8}, p)
		ADDQ(U32(uint32(6*v.size)), tp)
	})
}

// writeHeld is write with the ranks between the two transforms in
// registers: ranks 0 and 2 first, which share what they need, then 1 and 3.
// Stores cost more here than reading the points twice.
func (w *tileWriter) writeHeld(m, y reg.Register) {
	w.load()
	p := GP64()
	for half := range 2 {
		MOVQ(m, p)
		var ranks [2][]reg.VecVirtual
		for column := range 6 {
			for i, x := range w.outputHalf(half, func(i int) Mem { return w.at.at(p, i) }) {
				ranks[i] = append(ranks[i], x)
			}
			if column < 5 {
				ADDQ(w.f.mem("srcPlane"), p)
			}
		}
		MOVQ(y, p)
		if half == 1 {
			LEAQ(Mem{Base: p, Index: w.row, Scale: 8}, p)
		}
		w.rank(p, ranks[0])
		LEAQ(Mem{Base: p, Index: w.row, Scale: 8}, p)
		LEAQ(Mem{Base: p, Index: w.row, Scale: 8}, p)
		w.rank(p, ranks[1])
	}
}

// load loads what rank needs.
func (w *tileWriter) load() {
	w.row, w.row3 = w.f.load("dstRow"), GP64()
	LEAQ(Mem{Base: w.row, Index: w.row, Scale: 2}, w.row3)
	w.floor = w.f.broadcast(w.v, "floor")
}

// rank transforms the 6 points of a rank to its 4 squares at p.
func (w *tileWriter) rank(p reg.Register, points []reg.VecVirtual) {
	w.output(points, func(i int, r reg.VecVirtual) {
		VADDPS(w.bias, r, r)
		// The second operand wins when one is NaN: NaN passes.
		VMAXPS(r, w.floor, r)
		if w.sums {
			VADDPS(r, w.total[i%2], w.total[i%2])
			VFMADD231PS(r, r, w.total[2+i%2])
		}
		w.out.store(r, [4]Mem{
			{Base: p},
			{Base: p, Index: w.row, Scale: 1},
			{Base: p, Index: w.row, Scale: 2},
			{Base: p, Index: w.row3, Scale: 1},
		}[i])
	})
}

// loadAll loads n vectors.
func (v isa) loadAll(n int, mem func(i int) Mem) []reg.VecVirtual {
	x := v.vecs(n)
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
				times([]string{"rank", "rank2"}[c], count, 3, func() {
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
			times("column", count, 6, func() {
				for c := range channels {
					g := v.loadAll(3, func(r int) Mem { return Mem{Base: tp, Disp: (c*18 + r) * v.size} })
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
			times("column", count, 6, func() {
				t.weightGrad(v.loadAll(6, func(i int) Mem { return at.at(p, i) }), func(i int, x reg.VecVirtual) {
					VMOVUPS(x, Mem{Base: tp, Disp: i * 6 * v.size})
				})
				ADDQ(plane, p)
				ADDQ(U32(uint32(v.size)), tp)
			})
			MOVQ(dst, p)
			MOVQ(temp, tp)
			times("rank", count, 3, func() {
				t.weightGrad(v.loadAll(6, func(i int) Mem { return Mem{Base: tp, Disp: i * v.size} }), func(i int, x reg.VecVirtual) {
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
