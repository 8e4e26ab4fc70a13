package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genAffine emits the passes over rows of channels with per-channel factors.
func genAffine(v isa) {
	for _, s := range v.formats {
		affine(v, s, "affine", "computes y = max(floor, x*scale + shift).", "")
		affine(v, s, "affineRes", "computes y = max(floor, x*scale + shift + res).", "res")
		affine(v, s, "affine2", "computes y = u*uscale + x*scale + shift.", "u")
	}
}

// format is how numbers are stored.
type format int

const (
	floats    format = iota // fp32
	halfRows                // bf16; as words, two channels of a row
	halfPairs               // bf16 [pair of tiles][channel]: a word holds the two tiles of a rank half
)

func (f format) suffix() string { return [...]string{"", "Half", "HalfPairs"}[f] }

// bytes returns what n bytes of fp32 take in a row.
func (f format) bytes(n int) int {
	if f == halfRows {
		return n / 2
	}
	return n
}

// load returns the vector at m.
func (f format) load(v isa, m Mem) reg.VecVirtual {
	if f == floats {
		return v.copyOf(m)
	}
	x := v.result(VPMOVZXWD, m)
	VPSLLD(Imm(16), x, x)
	return x
}

// store writes x to m.
func (f format) store(x reg.VecVirtual, m Mem) {
	if f == floats {
		VMOVUPS(x, m)
		return
	}
	VMOVUPS(toBF16(x), m)
}

// passGroup returns how many panels a group of rowPass has and whether their
// factors are held in registers. AVX2 holds two factors of two panels; with three
// it reads them from memory, which costs less than rows in pieces of one panel.
func (v isa) passGroup(factors int) (panels int, held bool) {
	switch {
	case v.size == 64:
		return 4, true
	case factors == 2:
		return 2, true
	}
	return 4, false
}

// rowPass emits body for every vector of the rows. All rows of a group of panels
// go by before the next group; the panels that do not fill a group go one by one.
// at returns the operand of a row field, factor that of a per-channel field. Rows
// of x are stored in s, the others in fp32.
func rowPass(v isa, f *frame, s format, rows, factors []string, body func(at func(string) Mem, factor func(string) Op)) {
	fields := slices.Concat(rows, factors)
	ptr := f.pointers(fields...)
	left, stride, off, end := f.load("width"), f.load("skip"), GP64(), f.load("rows")
	ADDQ(left, stride)
	if s == halfRows { // offsets count bytes of x; the others' are scaled by 2
		SHRQ(Imm(1), stride)
	}
	IMULQ(stride, end)
	wide, inRegisters := v.passGroup(len(factors))
	group := func(label string, np int) {
		Label(label)
		CMPQ(left, U32(uint32(np*panelBytes)))
		JLT(LabelRef(label + "done"))
		n := np * v.perPanel()
		held := map[string][]Op{}
		for _, name := range factors {
			held[name] = make([]Op, n)
			for j := range n {
				held[name][j] = Mem{Base: ptr[name], Disp: j * v.size}
				if inRegisters {
					held[name][j] = v.copyOf(held[name][j])
				}
			}
		}
		XORQ(off, off)
		Label(label + "row")
		for j := range n {
			body(func(name string) Mem {
				if name == "x" {
					return Mem{Base: ptr[name], Index: off, Scale: 1, Disp: s.bytes(j * v.size)}
				}
				return Mem{Base: ptr[name], Index: off, Scale: 1 << s, Disp: j * v.size}
			}, func(name string) Op { return held[name][j] })
		}
		ADDQ(stride, off)
		CMPQ(off, end)
		JLT(LabelRef(label + "row"))
		for _, name := range fields {
			n := np * panelBytes
			if name == "x" {
				n = s.bytes(n)
			}
			ADDQ(U32(uint32(n)), ptr[name])
		}
		SUBQ(U32(uint32(np*panelBytes)), left)
		JMP(LabelRef(label))
		Label(label + "done")
	}
	group("group", wide)
	group("panel", 1)
}

// affine emits y = x*scale + shift, plus res and at least floor, or plus u*uscale.
func affine(v isa, s format, name, doc, added string) {
	v.kernel(name+s.suffix(), "affineArgs", doc, func(f *frame) {
		rows, factors := []string{"y", "x"}, []string{"scale", "shift"}
		if added != "" {
			rows = append(rows, added)
		}
		var floor reg.VecVirtual
		if added == "u" {
			factors = append(factors, "uscale")
		} else {
			floor = f.broadcast(v, "floor")
		}
		rowPass(v, f, s, rows, factors, func(at func(string) Mem, factor func(string) Op) {
			a := s.load(v, at("x"))
			scale, held := factor("scale").(reg.VecVirtual)
			if !held {
				scale = v.copyOf(factor("scale"))
			}
			VFMADD213PS(factor("shift"), scale, a)
			switch added {
			case "res":
				VADDPS(at("res"), a, a)
			case "u":
				VFMADD231PS(factor("uscale"), v.copyOf(at("u")), a)
			}
			if floor != nil {
				VMAXPS(a, floor, a)
			}
			VMOVUPS(a, at("y"))
		})
	})
}

// genColumnSums emits the column sums of u' and u'*(v-mean) over a block of
// rows, for groups of panels; u' is u, or u where mask > 0, else 0.
func genColumnSums(v isa) {
	for _, np := range []int{v.sums, 1} {
		for _, st := range v.formats {
			columnSums(v, st, np, "sumProduct", "sums %d columns of u and u*(v-mean).", false)
			columnSums(v, st, np, "sumProductMask", "sums %d columns of u and u*(v-mean) where mask > 0 and stores u or 0.", true)
		}
	}
}

func columnSums(v isa, st format, np int, name, doc string, masked bool) {
	name = fmt.Sprintf("%s%d%s", name, np*16, st.suffix())
	v.kernel(name, "sumArgs", fmt.Sprintf(doc, np*16), func(f *frame) {
		n := np * v.perPanel()
		s1, s2 := v.vecs(n), v.vecs(n)
		u, rows, stride, w := f.load("u"), f.load("rows"), f.load("stride"), f.load("v")
		ptrs, vStride := []reg.GPVirtual{u, w}, stride
		if st == halfRows {
			ptrs, vStride = ptrs[:1], GP64()
			MOVQ(stride, vStride)
			SHRQ(Imm(1), vStride)
		}
		var mask, store reg.GPVirtual
		if masked {
			mask, store = f.load("mask"), f.load("store")
			ptrs = append(ptrs, mask, store)
		}
		mean := make([]Op, n) // in registers where there are enough
		p := f.load("mean")
		for j := range mean {
			mean[j] = Mem{Base: p, Disp: j * v.size}
			if v.size == 64 {
				mean[j] = v.copyOf(mean[j])
			}
		}
		zero := v.vec()
		v.zero(slices.Concat([]reg.VecVirtual{zero}, s1, s2)...)
		loop("row", rows, func() {
			for j := range n {
				d := j * v.size
				var a reg.VecVirtual
				if masked {
					a = v.maskPositive(Mem{Base: mask, Disp: d}, Mem{Base: u, Disp: d}, zero)
					VMOVUPS(a, Mem{Base: store, Disp: d})
				} else {
					a = v.copyOf(Mem{Base: u, Disp: d})
				}
				VADDPS(a, s1[j], s1[j])
				b := st.load(v, Mem{Base: w, Disp: st.bytes(d)})
				VSUBPS(mean[j], b, b)
				VFMADD231PS(a, b, s2[j])
			}
			for _, p := range ptrs {
				ADDQ(stride, p)
			}
			if st == halfRows {
				ADDQ(vStride, w)
			}
		})
		storeVecs(v, f, "s1", s1)
		storeVecs(v, f, "s2", s2)
	})
}

func storeVecs(v isa, f *frame, field string, s []reg.VecVirtual) {
	p := f.load(field)
	for j := range s {
		VMOVUPS(s[j], Mem{Base: p, Disp: j * v.size})
	}
}
