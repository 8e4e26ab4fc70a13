package main

// genActivations emits the activations and their gradients over whole panels.
func genActivations(o *output) {
	activation(o, "mish", "sets y = a*tanh(softplus(a)).", mish, "saturated", "two")
	activation(o, "mishBackward", "sets y = a*mish'(b).", mishBackward, "saturated", "two", "four", "zero")
	activation(o, "swish", "sets y = a/(1+exp(-a)).", swish, "expMax", "zero")
	activation(o, "swishBackward", "sets y = a*swish'(b).", swishBackward, "saturated", "zero")
	activation(o, "sigmoid", "sets y = 1/(1+exp(-a)).", sigmoid, "expMax", "zero")
	activation(o, "sigmoidBackward", "sets y = a*b*(1-b).", sigmoidBackward)
	activation(o, "tanh", "sets y = tanh(a).", tanh,
		"t0", "t1", "t2", "t3", "t4", "tanhSmall", "saturated", "magnitude", "two")
	activation(o, "tanhBackward", "sets y = a*(1-b*b).", tanhBackward)
}

// activation emits a pass of body, which returns the result for a and b.
func activation(o *output, name, doc string, body func(c *constants, a, b vec) vec, names ...string) {
	o.kernel(name, "flatArgs", doc, func(f *fn) {
		y, a, b, n := f.field("y"), f.field("a"), f.field("b"), f.field("n")
		c, av, bv := newConstants(f, names...), f.vec(), f.vec()
		f.loop("panel", n, func() {
			for d := 0; d < panelBytes; d += quadBytes {
				c.scope(func() {
					f.load([]vec{av}, a, d)
					f.load([]vec{bv}, b, d)
					f.store([]vec{body(c, av, bv)}, y, d)
				})
			}
			f.advance(panelBytes, y, a, b)
		})
	})
}

// mishParts returns n = e^2 + 2e and d = n + 2 for e = exp(min(x, 20)), which x takes:
// tanh(log(1+e)) = n/d, which is 1 in float32 from 20 on.
func mishParts(c *constants, x vec) (n, d vec) {
	c.exp(x)
	n = c.result("fadd", x, x)
	c.op("fmla", n, x, x)
	return n, c.result("fadd", n, c.k("two"))
}

// mish multiplies with a itself, so that NaN, +Inf and values beyond 20 pass.
func mish(c *constants, a, _ vec) vec {
	x := c.copyOf(a)
	c.clamp(x, "expMin", "saturated")
	n, d := mishParts(c, x)
	c.op("fdiv", n, n, d)
	c.op("fmul", n, n, a)
	return n
}

// mishBackward: with t = n/d, 1-t^2 = 4(1+e)^2/d^2 and sigmoid = e/(1+e),
// mish' = (n + 4 x e (1+e)/d)/d. Adding 0*x makes +-Inf NaN.
func mishBackward(c *constants, a, b vec) vec {
	x := c.copyOf(b)
	c.clamp(x, "expMin", "saturated")
	x4 := c.result("fmul", x, c.k("four"))
	n, d := mishParts(c, x)
	inv := c.result("fdiv", c.k("one"), d)
	e := c.mulAdd(x, x, x) // e + e^2
	c.op("fmul", e, e, x4)
	c.op("fmla", n, e, inv)
	c.op("fmul", n, n, inv)
	c.op("fmla", n, b, c.k("zero"))
	c.op("fmul", n, n, a)
	return n
}

func sigmoid(c *constants, a, _ vec) vec {
	x := c.result("fsub", c.k("zero"), a)
	c.clamp(x, "expMin", "expMax")
	c.exp(x)
	c.op("fadd", x, x, c.k("one"))
	c.op("fdiv", x, c.k("one"), x)
	return x
}

// swish multiplies with a itself, so that NaN and +Inf pass.
func swish(c *constants, a, b vec) vec {
	y := sigmoid(c, a, b)
	c.op("fmul", y, y, a)
	return y
}

// swishBackward: with e = exp(x), s = e/(1+e) and 1-s = 1/(1+e), swish' = s (1 + x (1-s)),
// 1 in float32 from x = 20 on. Adding 0*x makes +-Inf NaN.
func swishBackward(c *constants, a, b vec) vec {
	e := c.copyOf(b)
	c.clamp(e, "expMin", "saturated")
	x := c.copyOf(e)
	c.exp(e)
	inv := c.result("fadd", e, c.k("one"))
	c.op("fdiv", inv, c.k("one"), inv)
	slope := c.mulAdd(c.k("one"), x, inv)
	c.op("fmul", e, e, inv)
	c.op("fmul", e, e, slope)
	c.op("fmla", e, b, c.k("zero"))
	c.op("fmul", e, e, a)
	return e
}

func sigmoidBackward(c *constants, a, b vec) vec {
	y, d := c.result("fsub", c.k("one"), b), c.result("fmul", a, b)
	c.op("fmul", y, y, d)
	return y
}

// tanh is a polynomial below tanhSmall and 1 - 2/(exp(2|a|)+1) above.
func tanh(c *constants, a, _ vec) vec {
	abs, sign := c.vec(), c.vec()
	c.ins("VAND V%d.B16, V%d.B16, V%d.B16", c.k("magnitude"), a, abs)
	c.ins("VEOR V%d.B16, V%d.B16, V%d.B16", abs, a, sign)
	square := c.result("fmul", a, a)
	poly, _ := c.horner(square, "t0", "t1", "t2", "t3", "t4")
	c.op("fmul", square, square, a)
	small := c.mulAdd(a, square, poly) // x + x^3 t(x^2)
	big := c.result("fadd", abs, abs)
	c.clamp(big, "expMin", "saturated")
	c.exp(big)
	c.op("fadd", big, big, c.k("one"))
	c.op("fdiv", big, c.k("two"), big)
	c.op("fsub", big, c.k("one"), big)
	c.ins("VEOR V%d.B16, V%d.B16, V%d.B16", sign, big, big)
	c.op("fcmgt", abs, c.k("tanhSmall"), abs)
	c.ins("VBSL V%d.B16, V%d.B16, V%d.B16", big, small, abs)
	return abs
}

func tanhBackward(c *constants, a, b vec) vec {
	y := c.copyOf(c.k("one"))
	c.op("fmls", y, b, b)
	c.op("fmul", y, y, a)
	return y
}
