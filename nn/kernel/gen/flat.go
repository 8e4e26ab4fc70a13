package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genFlat emits the passes over whole arrays.
func genFlat(v isa) {
	flat(v, "flatReLU", "sets y = max(0, a).", func(a, _ Mem, _, zero reg.VecVirtual) reg.VecVirtual {
		x := v.copyOf(a)
		VMAXPS(x, zero, x)
		return x
	})
	flat(v, "flatReLUBackward", "sets y = a where b > 0, else 0.", func(a, b Mem, _, zero reg.VecVirtual) reg.VecVirtual {
		return v.maskPositive(b, a, zero)
	})
	flat(v, "flatAdd", "sets y = a + b.", func(a, b Mem, _, _ reg.VecVirtual) reg.VecVirtual {
		x := v.copyOf(a)
		VADDPS(b, x, x)
		return x
	})
	flat(v, "flatAxpy", "sets y = b + alpha*a.", func(a, b Mem, alpha, _ reg.VecVirtual) reg.VecVirtual {
		x := v.copyOf(b)
		VFMADD231PS(a, alpha, x)
		return x
	})
	flat(v, "flatScale", "sets y = alpha*a.", func(a, _ Mem, alpha, _ reg.VecVirtual) reg.VecVirtual {
		return v.result(VMULPS, a, alpha)
	})
}

func flat(v isa, name, doc string, op func(a, b Mem, alpha, zero reg.VecVirtual) reg.VecVirtual) {
	v.kernel(name, "flatArgs", doc, func(f *frame) {
		y, a, b, n := f.load("y"), f.load("a"), f.load("b"), f.load("n")
		alpha, zero := f.broadcast(v, "alpha"), v.vec()
		v.zero(zero)
		overVectors(v, n, "panel", []reg.GPVirtual{y, a, b}, func(d int) {
			VMOVUPS(op(Mem{Base: a, Disp: d}, Mem{Base: b, Disp: d}, alpha, zero), Mem{Base: y, Disp: d})
		})
	})
}

// genOptimizers emits the optimizer updates.
func genOptimizers(v isa) {
	v.kernel("sgd", "optArgs", "is one step of SGD with Nesterov momentum.", func(f *frame) {
		w, g, m, n := f.load("w"), f.load("g"), f.load("m"), f.load("n")
		lr, mom, decay := f.broadcast(v, "lr"), f.broadcast(v, "momentum"), f.broadcast(v, "decay")
		overVectors(v, n, "panel", []reg.GPVirtual{w, g, m}, func(d int) {
			wv, gv, mv := v.copyOf(Mem{Base: w, Disp: d}), v.copyOf(Mem{Base: g, Disp: d}), v.copyOf(Mem{Base: m, Disp: d})
			VFMADD231PS(decay, wv, gv)
			VFMADD213PS(gv, mom, mv)
			VMOVUPS(mv, Mem{Base: m, Disp: d})
			VFMADD231PS(mom, mv, gv)
			VFNMADD231PS(lr, gv, wv)
			VMOVUPS(wv, Mem{Base: w, Disp: d})
		})
	})
	adamw(v, "adamw", "is one step of AdamW.", []string{"lr", "decay", "b1", "c1", "b2", "c2", "eps", "bc1", "bc2"},
		func(k map[string]reg.VecVirtual, m, _ reg.VecVirtual) { VDIVPS(k["bc1"], m, m) })
	adamw(v, "nadamw", "is one step of NAdamW.", []string{"lr", "decay", "b1", "c1", "b2", "c2", "eps", "cm", "cg", "bc2"},
		func(k map[string]reg.VecVirtual, m, g reg.VecVirtual) {
			VMULPS(k["cm"], m, m)
			VFMADD231PS(k["cg"], g, m)
		})
}

// adamw emits an update by moments with the factors that are named; direction makes that
// of the step from the first moment m and the gradient g, in m.
func adamw(v isa, name, doc string, factors []string, direction func(k map[string]reg.VecVirtual, m, g reg.VecVirtual)) {
	v.kernel(name, "optArgs", doc, func(f *frame) {
		w, g, m, s, n := f.load("w"), f.load("g"), f.load("m"), f.load("v"), f.load("n")
		k := map[string]reg.VecVirtual{}
		for _, name := range factors {
			k[name] = f.broadcast(v, name)
		}
		overVectors(v, n, "panel", []reg.GPVirtual{w, g, m, s}, func(d int) {
			gv, mv := v.copyOf(Mem{Base: g, Disp: d}), v.result(VMULPS, Mem{Base: m, Disp: d}, k["b1"])
			VFMADD231PS(k["c1"], gv, mv)
			VMOVUPS(mv, Mem{Base: m, Disp: d})
			sv, t := v.result(VMULPS, Mem{Base: s, Disp: d}, k["b2"]), v.result(VMULPS, k["c2"], gv)
			VFMADD231PS(t, gv, sv)
			VMOVUPS(sv, Mem{Base: s, Disp: d})
			VDIVPS(k["bc2"], sv, sv)
			VSQRTPS(sv, sv)
			VADDPS(k["eps"], sv, sv)
			direction(k, mv, gv)
			VDIVPS(sv, mv, mv)
			wv := gv
			VMOVUPS(Mem{Base: w, Disp: d}, wv)
			VMOVAPS(wv, t)
			VFNMADD231PS(k["decay"], t, wv)
			VFNMADD231PS(k["lr"], mv, wv)
			VMOVUPS(wv, Mem{Base: w, Disp: d})
		})
	})
}

// overVectors emits body for every vector of n panels at the pointers, which it
// moves on and counts n down.
func overVectors(v isa, n reg.Register, label string, ptrs []reg.GPVirtual, body func(disp int)) {
	loop(label, n, func() {
		for h := range v.perPanel() {
			body(h * v.size)
		}
		for _, p := range ptrs {
			ADDQ(Imm(panelBytes), p)
		}
	})
}

// genHalf emits the rounding of whole arrays to bf16, and its inverse.
func genHalf() {
	avx512.kernel("flatHalf", "flatArgs", "rounds a to bf16, 16 to 8 words.", func(f *frame) {
		y, a, n := f.load("y"), f.load("a"), f.load("n")
		loop("panel", n, func() {
			VMOVUPS(toBF16(avx512.copyOf(Mem{Base: a})), Mem{Base: y})
			ADDQ(Imm(panelBytes), a)
			ADDQ(Imm(panelBytes/2), y)
		})
	})
	avx512.kernel("flatWiden", "flatArgs", "widens the bf16 numbers a, 8 words to 16.", func(f *frame) {
		y, a, n := f.load("y"), f.load("a"), f.load("n")
		loop("panel", n, func() {
			VMOVUPS(halfRows.load(avx512, Mem{Base: a}), Mem{Base: y})
			ADDQ(Imm(panelBytes/2), a)
			ADDQ(Imm(panelBytes), y)
		})
	})
}
