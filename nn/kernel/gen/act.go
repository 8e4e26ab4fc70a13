package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// genActivations emits the activations and their gradients over whole panels.
func genActivations(v isa) {
	activation(v, "mish", "sets y = a*tanh(softplus(a)).", mish, "saturated", "two")
	activation(v, "mishBackward", "sets y = a*mish'(b).", mishBackward, "saturated", "two", "four", "zero")
	activation(v, "swish", "sets y = a/(1+exp(-a)).", swish, "expMax", "zero")
	activation(v, "swishBackward", "sets y = a*swish'(b).", swishBackward, "saturated", "zero")
	activation(v, "sigmoid", "sets y = 1/(1+exp(-a)).", sigmoid, "expMax", "zero")
	activation(v, "sigmoidBackward", "sets y = a*b*(1-b).", sigmoidBackward)
	activation(v, "tanh", "sets y = tanh(a).", tanh,
		"t0", "t1", "t2", "t3", "t4", "tanhSmall", "saturated", "magnitude", "two")
	activation(v, "tanhBackward", "sets y = a*(1-b*b).", tanhBackward)
}

// activation emits a pass of f, which returns the result for the operands a, b.
func activation(v isa, name, doc string, f func(c *constants, a, b Mem) reg.VecVirtual, names ...string) {
	v.kernel(name, "flatArgs", doc, func(fr *frame) {
		c := newConstants(v, names...)
		y, a, b, n := fr.load("y"), fr.load("a"), fr.load("b"), fr.load("n")
		overVectors(v, n, "panel", []reg.GPVirtual{y, a, b}, func(d int) {
			VMOVUPS(f(c, Mem{Base: a, Disp: d}, Mem{Base: b, Disp: d}), Mem{Base: y, Disp: d})
		})
	})
}

// mishParts returns e = exp(min(x, 20)), n = e^2 + 2e and d = n + 2:
// tanh(log(1+e)) = n/d, which is 1 in float32 from 20 on. x is destroyed.
func mishParts(c *constants, x reg.VecVirtual) (e, n, d reg.VecVirtual) {
	e = c.exp(x)
	n = c.v.result(VADDPS, e, e)
	VFMADD231PS(e, e, n)
	return e, n, c.v.result(VADDPS, c.op("two"), n)
}

// mish multiplies with a itself, so that NaN, +Inf and values beyond 20 pass.
func mish(c *constants, a, _ Mem) reg.VecVirtual {
	x := c.v.copyOf(a)
	c.clamp(x, "expMin", "saturated")
	_, n, d := mishParts(c, x)
	VDIVPS(d, n, n)
	VMULPS(a, n, n)
	return n
}

// mishBackward: with t = n/d, 1-t^2 = 4(1+e)^2/d^2 and sigmoid = e/(1+e),
// mish' = (n + 4 x e (1+e)/d)/d. Adding 0*x makes +-Inf NaN.
func mishBackward(c *constants, a, b Mem) reg.VecVirtual {
	x := c.v.copyOf(b)
	c.clamp(x, "expMin", "saturated")
	x4 := c.v.result(VMULPS, c.op("four"), x)
	e, n, d := mishParts(c, x)
	inv := c.v.copyOf(c.op("one"))
	VDIVPS(d, inv, inv)
	VFMADD213PS(e, e, e) // e^2 + e
	VMULPS(x4, e, e)
	VFMADD231PS(inv, e, n)
	VMULPS(inv, n, n)
	VFMADD231PS(b, c.vec("zero"), n)
	VMULPS(a, n, n)
	return n
}

func sigmoid(c *constants, a, _ Mem) reg.VecVirtual {
	x := c.v.result(VSUBPS, a, c.vec("zero"))
	c.clamp(x, "expMin", "expMax")
	e, y := c.exp(x), c.v.copyOf(c.op("one"))
	VADDPS(c.op("one"), e, e)
	VDIVPS(e, y, y)
	return y
}

// swish multiplies with a itself, so that NaN and +Inf pass.
func swish(c *constants, a, b Mem) reg.VecVirtual {
	y := sigmoid(c, a, b)
	VMULPS(a, y, y)
	return y
}

// swishBackward: with e = exp(x), s = e/(1+e) and 1-s = 1/(1+e), swish' = s (1 + x (1-s)),
// 1 in float32 from x = 20 on. Adding 0*x makes +-Inf NaN.
func swishBackward(c *constants, a, b Mem) reg.VecVirtual {
	x := c.v.copyOf(b)
	c.clamp(x, "expMin", "saturated")
	slope := c.v.copyOf(x)
	e, inv := c.exp(x), c.v.copyOf(c.op("one"))
	VDIVPS(c.v.result(VADDPS, c.op("one"), e), inv, inv)
	VFMADD213PS(c.op("one"), inv, slope)
	VMULPS(inv, e, e)
	VMULPS(slope, e, e)
	VFMADD231PS(b, c.vec("zero"), e)
	VMULPS(a, e, e)
	return e
}

func sigmoidBackward(c *constants, a, b Mem) reg.VecVirtual {
	y, d := c.v.copyOf(c.op("one")), c.v.copyOf(b)
	VSUBPS(d, y, y)
	VMULPS(a, d, d)
	VMULPS(d, y, y)
	return y
}

// tanh is a polynomial below tanhSmall and 1 - 2/(exp(2|a|)+1) above.
func tanh(c *constants, a, _ Mem) reg.VecVirtual {
	v := c.v
	x := v.copyOf(a)
	abs := v.result(v.and, c.op("magnitude"), x)
	sign := v.result(v.xor, x, abs)
	square := v.result(VMULPS, x, x)
	poly := c.horner(square, "t0", "t1", "t2", "t3", "t4")
	small := v.result(VMULPS, square, x)
	VFMADD213PS(x, small, poly) // x + x^3 t(x^2)
	twice := v.result(VADDPS, abs, abs)
	c.clamp(twice, "expMin", "saturated")
	e, big, q := c.exp(twice), v.copyOf(c.op("one")), v.copyOf(c.op("two"))
	VADDPS(c.op("one"), e, e)
	VDIVPS(e, q, q)
	VSUBPS(q, big, big)
	v.xor(sign, big, big)
	if v.size == 64 {
		k := K()
		VCMPPS(Imm(lessOrderedQuiet), c.vec("tanhSmall"), abs, k)
		VMOVAPS(poly, k, big)
		return big
	}
	VCMPPS(Imm(lessOrderedQuiet), c.op("tanhSmall"), abs, abs)
	VBLENDVPS(abs, poly, big, big)
	return big
}

func tanhBackward(c *constants, a, b Mem) reg.VecVirtual {
	y, one := c.v.copyOf(b), c.vec("one")
	VFNMADD213PS(one, y, y)
	VMULPS(a, y, y)
	return y
}
