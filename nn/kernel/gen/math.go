package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/chessbrain/chessbrain/nn/kernel/gen/args"
)

// constantBytes is the stride of the table: 8 copies, an AVX2 operand.
const constantBytes = 32

var constantTable Mem

// genMathConstants emits the table, which all instruction sets share.
func genMathConstants() {
	constantTable = GLOBL("mathConstants", NOPTR|RODATA)
	for i, c := range args.MathConstants {
		for j := range constantBytes / 4 {
			DATA(i*constantBytes+4*j, U32(c.Bits))
		}
	}
}

// constants gives a kernel the table's entries: registers in AVX-512, which has
// 32, memory operands in AVX2.
type constants struct {
	v    isa
	regs map[string]reg.VecVirtual
}

// newConstants loads the named constants, and those of exp, at a kernel's start.
func newConstants(v isa, names ...string) *constants {
	c := &constants{v, map[string]reg.VecVirtual{}}
	if v.size < 64 {
		return c
	}
	for _, n := range append([]string{"log2e", "ln2", "ln2low", "e0", "e1", "e2", "e3", "e4", "one", "expMin"}, names...) {
		c.regs[n] = v.result(VBROADCASTSS, constantMem(n))
	}
	return c
}

func constantMem(name string) Mem {
	return constantTable.Offset(args.MathConstant(name) * constantBytes)
}

// op returns a constant as the operand that may be memory.
func (c *constants) op(name string) Op {
	if c.v.size < 64 {
		return constantMem(name)
	}
	return c.vec(name)
}

// vec returns a constant in a register that must not be changed.
func (c *constants) vec(name string) reg.VecVirtual {
	if c.v.size < 64 {
		return c.v.copyOf(constantMem(name))
	}
	r, ok := c.regs[name]
	if !ok {
		panic("constant " + name + " is not loaded")
	}
	return r
}

// clamp limits x in place to [low, high]; NaN passes, because the second operand
// of MAXPS and MINPS wins then.
func (c *constants) clamp(x reg.VecVirtual, low, high string) {
	VMAXPS(x, c.vec(low), x)
	VMINPS(x, c.vec(high), x)
}

// horner returns the polynomial of x with the coefficients, lowest first.
func (c *constants) horner(x reg.VecVirtual, names ...string) reg.VecVirtual {
	last := len(names) - 1
	p := c.v.copyOf(c.op(names[last]))
	for i := last - 1; i >= 0; i-- {
		VFMADD213PS(c.op(names[i]), x, p)
	}
	return p
}

// exp returns e^x for x in [expMin, expMax], which it destroys: with n = round(x
// log2 e) and r = x - n ln 2, e^x = 2^n (1 + r + r^2 e(r)).
func (c *constants) exp(x reg.VecVirtual) reg.VecVirtual {
	const nearest = 8 // and no inexact exception
	n := c.v.result(VMULPS, c.op("log2e"), x)
	if c.v.size == 64 {
		VRNDSCALEPS(Imm(nearest), n, n)
	} else {
		VROUNDPS(Imm(nearest), n, n)
	}
	VFNMADD231PS(c.op("ln2"), n, x)
	VFNMADD231PS(c.op("ln2low"), n, x)
	p := c.horner(x, "e0", "e1", "e2", "e3", "e4")
	square := c.v.result(VMULPS, x, x)
	VFMADD213PS(x, square, p)
	VADDPS(c.op("one"), p, p)
	c.scale(p, n)
	return p
}

// scale multiplies p by 2^n. AVX2 does it by two factors of half the exponent:
// 2^n itself may lie outside float32.
func (c *constants) scale(p, n reg.VecVirtual) {
	if c.v.size == 64 {
		VSCALEFPS(n, p, p)
		return
	}
	VCVTPS2DQ(n, n)
	half := c.v.result(VPSRAD, Imm(1), n)
	VPSUBD(half, n, n)
	for _, e := range []reg.VecVirtual{half, n} {
		VPSLLD(Imm(23), e, e)
		VPADDD(c.op("one"), e, e)
		VMULPS(e, p, p)
	}
}
