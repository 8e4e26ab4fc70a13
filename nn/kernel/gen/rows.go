package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genAffine emits the passes over rows of channels with per-channel factors.
func genAffine(v isa) {
	affine(v, "affine", "computes y = max(floor, x*scale + shift).", false)
	affine(v, "affineRes", "computes y = max(floor, x*scale + shift + res).", true)
	affine2(v, "affine2", "computes y = u*uscale + x*scale + shift.", false)
	affine2(v, "affine2Mask", "computes y = (mask > 0 ? u : 0)*uscale + x*scale + shift.", true)
}

// rowPass emits body for every vector of the rows: off is the byte offset from
// the row pointers, ch that from the per-channel pointers.
func rowPass(v isa, f *frame, ptrs []reg.GPVirtual, body func(disp int, ch reg.Register)) {
	rows, width, skip, ch := f.load("rows"), f.load("width"), f.load("skip"), GP64()
	loop("row", rows, func() {
		XORQ(ch, ch)
		Label("column")
		for h := range v.perPanel() {
			body(h*v.size, ch)
		}
		for _, p := range ptrs {
			ADDQ(Imm(panelBytes), p)
		}
		ADDQ(Imm(panelBytes), ch)
		CMPQ(ch, width)
		JLT(LabelRef("column"))
		for _, p := range ptrs {
			ADDQ(skip, p)
		}
	})
}

func affine(v isa, name, doc string, res bool) {
	v.kernel(name, "affineArgs", doc, func(f *frame) {
		y, x, scale, shift := f.load("y"), f.load("x"), f.load("scale"), f.load("shift")
		floor := f.broadcast(v, "floor")
		ptrs := []reg.GPVirtual{y, x}
		var r reg.GPVirtual
		if res {
			r = f.load("res")
			ptrs = append(ptrs, r)
		}
		rowPass(v, f, ptrs, func(disp int, ch reg.Register) {
			a, s := v.vec(), v.vec()
			VMOVUPS(Mem{Base: x, Disp: disp}, a)
			VMOVUPS(Mem{Base: scale, Index: ch, Scale: 1, Disp: disp}, s)
			VFMADD213PS(Mem{Base: shift, Index: ch, Scale: 1, Disp: disp}, s, a)
			if res {
				VADDPS(Mem{Base: r, Disp: disp}, a, a)
			}
			VMAXPS(a, floor, a)
			VMOVUPS(a, Mem{Base: y, Disp: disp})
		})
	})
}

func affine2(v isa, name, doc string, masked bool) {
	v.kernel(name, "affineArgs", doc, func(f *frame) {
		y, x, u := f.load("y"), f.load("x"), f.load("u")
		scale, shift, uscale := f.load("scale"), f.load("shift"), f.load("uscale")
		ptrs := []reg.GPVirtual{y, x, u}
		var mask reg.GPVirtual
		zero := v.vec()
		if masked {
			mask = f.load("mask")
			ptrs = append(ptrs, mask)
			v.zero(zero)
		}
		rowPass(v, f, ptrs, func(disp int, ch reg.Register) {
			a, b := v.vec(), v.vec()
			VMOVUPS(Mem{Base: x, Disp: disp}, a)
			VMOVUPS(Mem{Base: scale, Index: ch, Scale: 1, Disp: disp}, b)
			VFMADD213PS(Mem{Base: shift, Index: ch, Scale: 1, Disp: disp}, b, a)
			g := v.vec()
			if masked {
				g = v.maskPositive(Mem{Base: mask, Disp: disp}, Mem{Base: u, Disp: disp}, zero)
			} else {
				VMOVUPS(Mem{Base: u, Disp: disp}, g)
			}
			VFMADD231PS(Mem{Base: uscale, Index: ch, Scale: 1, Disp: disp}, g, a)
			VMOVUPS(a, Mem{Base: y, Disp: disp})
		})
	})
}

// genColumnSums emits the column sums of u' and u'*(v-mean) over a block of
// rows, for groups of panels.
func genColumnSums(v isa) {
	groups := []int{4, 1}
	if v.size == 32 {
		groups = []int{2, 1}
	}
	for _, np := range groups {
		columnSums(v, np, "sum", false, false, false)
		columnSums(v, np, "sumProduct", true, false, false)
		columnSums(v, np, "sumProductMask", true, true, false)
		columnSums(v, np, "sumProductMaskStore", true, true, true)
	}
}

func columnSums(v isa, np int, name string, product, masked, store bool) {
	name = fmt.Sprintf("%s%d", name, np*16)
	v.kernel(name, "sumArgs", fmt.Sprintf("sums %d columns.", np*16), func(f *frame) {
		n := np * v.perPanel()
		s1 := v.vecs(n)
		var s2 []reg.VecVirtual
		u, rows, stride := f.load("u"), f.load("rows"), f.load("stride")
		ptrs := []reg.GPVirtual{u}
		add := func(on bool, field string) reg.GPVirtual {
			if !on {
				return GP64()
			}
			p := f.load(field)
			ptrs = append(ptrs, p)
			return p
		}
		w, mask, st := add(product, "v"), add(masked, "mask"), add(store, "store")
		mean := GP64()
		if product {
			s2 = v.vecs(n)
			MOVQ(f.mem("mean"), mean)
		}
		zero := v.vec()
		for _, s := range append(append([]reg.VecVirtual{zero}, s1...), s2...) {
			v.zero(s)
		}
		loop("row", rows, func() {
			for j := range n {
				d := j * v.size
				a := v.vec()
				if masked {
					a = v.maskPositive(Mem{Base: mask, Disp: d}, Mem{Base: u, Disp: d}, zero)
				} else {
					VMOVUPS(Mem{Base: u, Disp: d}, a)
				}
				if store {
					VMOVUPS(a, Mem{Base: st, Disp: d})
				}
				VADDPS(a, s1[j], s1[j])
				if product {
					b := v.vec()
					VMOVUPS(Mem{Base: w, Disp: d}, b)
					VSUBPS(Mem{Base: mean, Disp: d}, b, b)
					VFMADD231PS(a, b, s2[j])
				}
			}
			for _, p := range ptrs {
				ADDQ(stride, p)
			}
		})
		storeVecs(v, f, "s1", s1)
		if product {
			storeVecs(v, f, "s2", s2)
		}
	})
}

func storeVecs(v isa, f *frame, field string, s []reg.VecVirtual) {
	p := f.load(field)
	for j := range s {
		VMOVUPS(s[j], Mem{Base: p, Disp: j * v.size})
	}
}
