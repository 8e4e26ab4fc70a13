package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genGemm emits the row-by-panel products. A tile of mr rows and np panels is
// y[r] = max(floor, bias + sum over segments and k of x[r][k] * w[k]); every
// accumulator adds in the same (segment, k) order whatever mr and np are, so a
// row is bit-identical in every tile shape.
func genGemm(v isa) {
	for np := range v.panels {
		gemm(v, v.rows, np+1)
	}
	gemm(v, 1, 4)
	gemm(v, 1, 1)
}

func gemm(v isa, mr, np int) {
	name := fmt.Sprintf("gemm%dx%d", mr, np*16)
	doc := fmt.Sprintf("computes tiles of %d rows by %d columns.", mr, np*16)
	v.kernel(name, "gemmArgs", doc, func(f *frame) {
		per := v.perPanel()
		acc := v.grid(mr, np*per)
		wv := v.vecs(np * per)
		bc := v.vecs(min(2, mr))
		x := f.load("x")
		rows := func(base reg.Register, _ int) Mem { return Mem{Base: base} }
		if mr > 1 {
			rows = rowOffsets(f, "xRow", mr)
		}
		panels := rowOffsets(f, "wPanel", np)
		xs, xp, w, seg, k := GP64(), GP64(), GP64(), GP64(), GP64()
		// The moving output pointer stays out of the argument struct: past the
		// end of y it would be a bad pointer to the garbage collector.
		y := AllocLocal(8)
		MOVQ(f.mem("y"), k)
		MOVQ(k, y)
		// A single row uses a weight once, and AVX2 lacks the registers for 64 columns.
		held := wv
		if mr == 1 && v.size == 32 {
			held = nil
		}
		step := func(u int) {
			v.outer(fp32, acc, bc, held, func(i int) Mem { return rows(xp, i).Offset(4 * u) },
				func(j int) Mem { return panels(w, j/per).Offset(u*panelBytes + j%per*v.size) })
		}
		loop("tile", f.mem("tiles"), func() {
			v.zeroGrid(acc)
			MOVQ(x, xs)
			MOVQ(f.mem("w"), w)
			MOVQ(f.mem("segs"), seg)
			loop("segment", seg, func() {
				MOVQ(xs, xp)
				MOVQ(f.mem("kseg"), k)
				unrolled("k", k, 4, step, func(n int) {
					ADDQ(U32(4*n), xp)
					ADDQ(U32(panelBytes*n), w)
				})
				ADDQ(f.mem("xSeg"), xs)
			})
			gemmStore(v, f, acc, wv, y)
			ADDQ(f.mem("xTile"), x)
		})
	})
}

// outer adds the outer product of the numbers at x, one a row of acc, and the vectors at
// y, which are loaded into held where there is any. scratch takes the numbers.
func (v isa) outer(pr product, acc [][]reg.VecVirtual, scratch, held []reg.VecVirtual, x, y func(i int) Mem) {
	factors := make([]Op, len(acc[0]))
	for j := range factors {
		if factors[j] = y(j); held != nil {
			VMOVUPS(factors[j], held[j])
			factors[j] = held[j]
		}
	}
	for i, row := range acc {
		b := scratch[i%len(scratch)]
		VBROADCASTSS(x(i), b)
		for j, a := range row {
			pr.add(factors[j], b, a)
		}
	}
}

// gemmStore adds the bias, applies the floor, writes the tile to where next
// points and moves next on; tmp is free.
func gemmStore(v isa, f *frame, acc [][]reg.VecVirtual, tmp []reg.VecVirtual, next Mem) {
	bias, y := GP64(), GP64()
	MOVQ(f.mem("bias"), bias)
	TESTQ(bias, bias)
	JZ(LabelRef("nobias"))
	for j := range tmp {
		VMOVUPS(Mem{Base: bias, Disp: j * v.size}, tmp[j])
		for i := range acc {
			VADDPS(tmp[j], acc[i][j], acc[i][j])
		}
	}
	Label("nobias")
	floor := tmp[0]
	VBROADCASTSS(f.mem("floor"), floor)
	MOVQ(next, y)
	for i := range acc {
		for j, a := range acc[i] {
			// The second operand wins when one is NaN: NaN passes.
			VMAXPS(a, floor, a)
			VMOVUPS(a, Mem{Base: y, Disp: j * v.size})
		}
		if i < len(acc)-1 {
			ADDQ(f.mem("yRow"), y)
		}
	}
	MOVQ(f.mem("yTile"), y)
	ADDQ(y, next)
}

// unrolled emits step for k = 0, 1, ... n-1 with n in a register, by chunks of
// size and then one at a time; advance moves the pointers by so many steps.
func unrolled(label string, n reg.Register, size int, step, advance func(int)) {
	SUBQ(Imm(uint64(size)), n)
	JL(LabelRef(label + "tail"))
	Label(label + "loop")
	for u := range size {
		step(u)
	}
	advance(size)
	SUBQ(Imm(uint64(size)), n)
	JGE(LabelRef(label + "loop"))
	Label(label + "tail")
	ADDQ(Imm(uint64(size)), n)
	JZ(LabelRef(label + "done"))
	Label(label + "one")
	step(0)
	advance(1)
	DECQ(n)
	JNZ(LabelRef(label + "one"))
	Label(label + "done")
}

// rowOffsets returns a function that addresses row (or panel) i of mr rows whose stride
// is a field: multiples 1, 3, 5, 7 of the stride stand in registers, the others
// come from the index scale.
func rowOffsets(f *frame, field string, mr int) func(base reg.Register, i int) Mem {
	odd := map[int]reg.GPVirtual{1: f.load(field)}
	for i := 3; i < mr; i += 2 {
		odd[i] = GP64()
		LEAQ(Mem{Base: odd[i-2], Index: odd[1], Scale: 2}, odd[i])
	}
	return func(base reg.Register, i int) Mem {
		if i == 0 {
			return Mem{Base: base}
		}
		scale := uint8(1)
		for i%2 == 0 {
			i, scale = i/2, scale*2
		}
		return Mem{Base: base, Index: odd[i], Scale: scale}
	}
}
