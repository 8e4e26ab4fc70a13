package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genLayerNorm emits layer norms of rows of whole panels.
func genLayerNorm(v isa) {
	v.kernel("layerNorm", "normArgs", "normalises rows of alpha*x.", func(f *frame) { layerNorm(v, f, false) })
	v.kernel("layerNormSkip", "normArgs", "normalises rows of alpha*x + skip.", func(f *frame) { layerNorm(v, f, true) })
}

// normSums is the number of sums of a row, more than one so that a vector does not wait for
// the addition of the last.
const normSums = 4

// layerNorm emits three passes over each row: z, which y takes, with its sum; the sum of
// squared differences to the mean; and y.
func layerNorm(v isa, f *frame, skip bool) {
	inputs := []reg.GPVirtual{f.load("x")}
	if skip {
		inputs = append(inputs, f.load("skip"))
	}
	row, rows := f.load("y"), f.load("rows")
	alpha, eps, inverse, one := f.broadcast(v, "alpha"), f.broadcast(v, "eps"), f.broadcast(v, "inverse"), f.broadcast(v, "one")
	y, gamma, beta := GP64(), GP64(), GP64()
	acc := v.vecs(normSums)
	pass := func(label string, ptrs []reg.GPVirtual, body func(i, d int)) {
		MOVQ(row, y)
		overRow(v, f, label, append(ptrs, y), body)
	}
	mean := func() reg.VecVirtual { // of the numbers that acc sums up
		for n := normSums / 2; n > 0; n /= 2 {
			for i := range n {
				VADDPS(acc[i+n], acc[i], acc[i])
			}
		}
		v.allLanes(acc[0], VADDPS)
		return v.result(VMULPS, inverse, acc[0])
	}
	loop("row", rows, func() {
		v.zero(acc...)
		pass("sum", inputs, func(i, d int) {
			z, x := v.vec(), Mem{Base: inputs[0], Disp: d}
			if skip {
				VMOVUPS(Mem{Base: inputs[1], Disp: d}, z)
				VFMADD231PS(x, alpha, z)
			} else {
				VMULPS(x, alpha, z)
			}
			VMOVUPS(z, Mem{Base: y, Disp: d})
			VADDPS(z, acc[i], acc[i])
		})
		m := mean()
		v.zero(acc...)
		pass("squares", nil, func(i, d int) {
			z := v.copyOf(Mem{Base: y, Disp: d})
			VSUBPS(m, z, z)
			VFMADD231PS(z, z, acc[i])
		})
		scale := mean()
		VADDPS(eps, scale, scale)
		VSQRTPS(scale, scale)
		VDIVPS(scale, one, scale)
		MOVQ(f.mem("gamma"), gamma)
		MOVQ(f.mem("beta"), beta)
		pass("result", []reg.GPVirtual{gamma, beta}, func(_, d int) {
			z := v.copyOf(Mem{Base: y, Disp: d})
			VSUBPS(m, z, z)
			VMULPS(scale, z, z)
			b := v.copyOf(Mem{Base: beta, Disp: d})
			VFMADD231PS(Mem{Base: gamma, Disp: d}, z, b)
			VMOVUPS(b, Mem{Base: y, Disp: d})
		})
		MOVQ(y, row)
	})
}

// overRow emits body for every vector of a row at the pointers, which it moves on: groups
// of normSums vectors, then panels. i counts the vectors of a group.
func overRow(v isa, f *frame, label string, ptrs []reg.GPVirtual, body func(i, disp int)) {
	left := f.load("panels")
	group := func(label string, panels int) {
		Label(label)
		CMPQ(left, Imm(uint64(panels)))
		JLT(LabelRef(label + "done"))
		for i := range panels * v.perPanel() {
			body(i, i*v.size)
		}
		for _, p := range ptrs {
			ADDQ(U32(uint32(panels*panelBytes)), p)
		}
		SUBQ(Imm(uint64(panels)), left)
		JMP(LabelRef(label))
		Label(label + "done")
	}
	group(label+"group", normSums/v.perPanel())
	group(label+"panel", 1)
}
