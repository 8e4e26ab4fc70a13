package main

import (
	"fmt"

	"github.com/chessbrain/chessbrain/nn/kernel/gen/args"
)

// genMathConstants emits the table of constants, each in four lanes.
func genMathConstants(o *output) {
	o.asm.WriteString("\n")
	for i, c := range args.MathConstants {
		for lane := range 4 {
			fmt.Fprintf(&o.asm, "DATA mathConstants<>+%d(SB)/4, $0x%08x // %s\n", i*quadBytes+4*lane, c.Bits, c.Name)
		}
	}
	fmt.Fprintf(&o.asm, "GLOBL mathConstants<>(SB), RODATA|NOPTR, $%d\n", len(args.MathConstants)*quadBytes)
}

// constants gives a kernel entries of the table in registers, and emits functions of them.
// A result is in a new register unless the function says so.
type constants struct {
	*fn
	regs map[string]vec
}

// newConstants loads the named constants, and those of exp.
func newConstants(f *fn, names ...string) *constants {
	c, table := &constants{f, map[string]vec{}}, f.gp()
	f.ins("MOVD $mathConstants<>(SB), %v", table)
	for _, n := range append([]string{"log2e", "ln2", "ln2low", "e0", "e1", "e2", "e3", "e4", "one", "expMin"}, names...) {
		c.regs[n] = f.vec()
		f.load([]vec{c.regs[n]}, table, args.MathConstant(n)*quadBytes)
	}
	return c
}

// k returns a constant in a register that must not be changed.
func (c *constants) k(name string) vec {
	r, ok := c.regs[name]
	if !ok {
		panic("constant " + name + " is not loaded")
	}
	return r
}

// scope frees the vector registers that body takes.
func (c *constants) scope(body func()) {
	n := c.numVec
	body()
	c.numVec = n
}

// copyOf returns x.
func (c *constants) copyOf(x vec) vec {
	r := c.vec()
	c.copyTo(r, x)
	return r
}

func (c *constants) copyTo(d, x vec) { c.ins("VMOV V%d.B16, V%d.B16", x, d) }

// result returns op of x and y.
func (c *constants) result(op string, x, y vec) vec {
	r := c.vec()
	c.op(op, r, x, y)
	return r
}

// mulAdd returns a + x*y.
func (c *constants) mulAdd(a, x, y vec) vec {
	r := c.copyOf(a)
	c.op("fmla", r, x, y)
	return r
}

// clamp limits x in place to [low, high]; NaN passes.
func (c *constants) clamp(x vec, low, high string) {
	c.op("fmax", x, x, c.k(low))
	c.op("fmin", x, x, c.k(high))
}

// horner returns the polynomial of x with the coefficients, lowest first, and a free register.
func (c *constants) horner(x vec, names ...string) (p, free vec) {
	last := len(names) - 1
	p, free = c.copyOf(c.k(names[last])), c.vec()
	for i := last - 1; i >= 0; i-- {
		c.copyTo(free, c.k(names[i]))
		c.op("fmla", free, p, x)
		p, free = free, p
	}
	return p, free
}

// exp replaces x in [expMin, expMax] by e^x: with n = round(x log2 e) and r = x - n ln 2,
// e^x = 2^n (1 + r + r^2 e(r)). 2^n may lie outside float32: it is two factors of half the
// exponent.
func (c *constants) exp(x vec) {
	c.scope(func() {
		n := c.result("fmul", x, c.k("log2e"))
		c.op2("frintn", n, n)
		c.op("fmls", x, n, c.k("ln2"))
		c.op("fmls", x, n, c.k("ln2low"))
		p, t := c.horner(x, "e0", "e1", "e2", "e3", "e4")
		c.op("fmul", t, x, x)
		c.op("fmla", x, t, p)
		c.op("fadd", x, x, c.k("one"))
		c.op2("fcvtns", n, n)
		c.op2("sshr1", t, n)
		c.ins("VSUB V%d.S4, V%d.S4, V%d.S4", t, n, n)
		for _, e := range []vec{t, n} {
			c.ins("VSHL $23, V%d.S4, V%d.S4", e, e)
			c.ins("VADD V%d.S4, V%d.S4, V%d.S4", c.k("one"), e, e)
			c.op("fmul", x, x, e)
		}
	})
}
