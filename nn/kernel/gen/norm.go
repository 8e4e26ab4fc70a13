package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genLayerNorm emits layer norms of rows of whole panels and their gradients.
func genLayerNorm(v isa) {
	v.kernel("layerNorm", "normArgs", "normalises rows of alpha*x.", func(f *frame) { layerNorm(v, f, false) })
	v.kernel("layerNormSkip", "normArgs", "normalises rows of alpha*x + skip.", func(f *frame) { layerNorm(v, f, true) })
	v.kernel("layerNormBackward", "normArgs", "sets y to the gradient of alpha*x.", func(f *frame) { layerNormBackward(v, f, false) })
	v.kernel("layerNormBackwardSkip", "normArgs", "sets y to the gradient of alpha*x + skip.", func(f *frame) { layerNormBackward(v, f, true) })
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
	loop("row", rows, func() {
		v.zero(acc...)
		pass("sum", inputs, func(i, d int) {
			at := make([]Mem, len(inputs))
			for j, p := range inputs {
				at[j] = Mem{Base: p, Disp: d}
			}
			z := normInput(v, alpha, at)
			VMOVUPS(z, Mem{Base: y, Disp: d})
			VADDPS(z, acc[i], acc[i])
		})
		m := mean(v, inverse, acc)
		v.zero(acc...)
		pass("squares", nil, func(i, d int) {
			z := v.copyOf(Mem{Base: y, Disp: d})
			VSUBPS(m, z, z)
			VFMADD231PS(z, z, acc[i])
		})
		scale := mean(v, inverse, acc)
		inverseRoot(scale, eps, one)
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

// normInput returns z, where in are the operands of x and, if there is one, skip.
func normInput(v isa, alpha reg.VecVirtual, in []Mem) reg.VecVirtual {
	if len(in) == 1 {
		return v.result(VMULPS, in[0], alpha)
	}
	z := v.copyOf(in[1])
	VFMADD231PS(in[0], alpha, z)
	return z
}

// total adds up all lanes of acc, a power of 2 of registers, in every lane of the first.
func total(v isa, acc []reg.VecVirtual) reg.VecVirtual {
	for n := len(acc) / 2; n > 0; n /= 2 {
		for i := range n {
			VADDPS(acc[i+n], acc[i], acc[i])
		}
	}
	v.allLanes(acc[0], VADDPS)
	return acc[0]
}

// mean returns the mean of the numbers that acc sums up.
func mean(v isa, inverse reg.VecVirtual, acc []reg.VecVirtual) reg.VecVirtual {
	return v.result(VMULPS, inverse, total(v, acc))
}

// inverseRoot sets x = 1/sqrt(x+eps).
func inverseRoot(x, eps, one reg.VecVirtual) {
	VADDPS(eps, x, x)
	VSQRTPS(x, x)
	VDIVPS(x, one, x)
}

// layerNormBackward emits four passes over each row: the sums of z and of its squared
// differences to the mean; those of g and g*xhat, with dgamma and dbeta; and y. Each computes
// z again: y may lie over u, and cannot keep it.
func layerNormBackward(v isa, f *frame, skip bool) {
	fields := []string{"y", "u", "x"}
	if skip {
		fields = append(fields, "skip")
	}
	rows, off, ptr := f.load("rows"), GP64(), f.pointers(append(fields, "gamma", "dgamma", "dbeta")...)
	alpha, inverse, acc := f.broadcast(v, "alpha"), f.broadcast(v, "inverse"), v.vecs(normSums)
	pass := func(label string, body func(i int, at func(string) Mem, z reg.VecVirtual)) {
		XORQ(off, off)
		overRow(v, f, label, []reg.GPVirtual{off}, func(i, d int) {
			at := func(field string) Mem { return Mem{Base: ptr[field], Index: off, Scale: 1, Disp: d} }
			in := []Mem{at("x")}
			if skip {
				in = append(in, at("skip"))
			}
			body(i, at, normInput(v, alpha, in))
		})
	}
	loop("row", rows, func() {
		v.zero(acc...)
		pass("sum", func(i int, _ func(string) Mem, z reg.VecVirtual) { VADDPS(z, acc[i], acc[i]) })
		m := mean(v, inverse, acc)
		v.zero(acc...)
		pass("squares", func(i int, _ func(string) Mem, z reg.VecVirtual) {
			VSUBPS(m, z, z)
			VFMADD231PS(z, z, acc[i])
		})
		scale := mean(v, inverse, acc)
		inverseRoot(scale, f.broadcast(v, "eps"), f.broadcast(v, "one"))
		v.zero(acc...)
		sums, products := acc[:normSums/2], acc[normSums/2:] // of g, of g*xhat
		pass("gradients", func(i int, at func(string) Mem, xhat reg.VecVirtual) {
			VSUBPS(m, xhat, xhat)
			VMULPS(scale, xhat, xhat)
			u, dgamma := v.copyOf(at("u")), v.copyOf(at("dgamma"))
			VFMADD231PS(xhat, u, dgamma)
			VMOVUPS(dgamma, at("dgamma"))
			VMOVUPS(v.result(VADDPS, at("dbeta"), u), at("dbeta"))
			VMULPS(at("gamma"), u, u)
			i %= len(sums)
			VADDPS(u, sums[i], sums[i])
			VFMADD231PS(u, xhat, products[i])
		})
		meanG, meanGX := mean(v, inverse, sums), mean(v, inverse, products)
		pass("result", func(_ int, at func(string) Mem, xhat reg.VecVirtual) {
			VSUBPS(m, xhat, xhat)
			VMULPS(scale, xhat, xhat)
			g := v.copyOf(at("u"))
			VMULPS(at("gamma"), g, g)
			VSUBPS(meanG, g, g)
			VFNMADD231PS(meanGX, xhat, g)
			VMULPS(scale, g, g)
			VMOVUPS(g, at("y"))
		})
		for _, name := range fields {
			ADDQ(off, ptr[name])
		}
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
