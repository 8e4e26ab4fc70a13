package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mathConstants are the constants of exp and tanh. The polynomials are minimax
// fits of the relative error: exp(r) = 1 + r + r^2*e(r) for |r| <= ln(2)/2 within
// 0.06*2^-24, tanh(x) = x + x^3*t(x^2) for |x| < tanhSmall within 0.08*2^-24.
var mathConstants = []struct {
	name string
	bits uint32
}{
	{"log2e", math.Float32bits(math.Log2E)},
	{"ln2", math.Float32bits(math.Ln2)},
	{"ln2low", math.Float32bits(float32(math.Ln2 - float64(float32(math.Ln2))))},
	{"e0", math.Float32bits(0.4999999403953552)},
	{"e1", math.Float32bits(0.1666652113199234)},
	{"e2", math.Float32bits(0.04166826605796814)},
	{"e3", math.Float32bits(0.008368677459657192)},
	{"e4", math.Float32bits(0.001382073387503624)},
	{"t0", math.Float32bits(-0.3333328068256378)},
	{"t1", math.Float32bits(0.13331405818462372)},
	{"t2", math.Float32bits(-0.05373651534318924)},
	{"t3", math.Float32bits(0.02062816731631756)},
	{"t4", math.Float32bits(-0.0056922961957752705)},
	{"tanhSmall", math.Float32bits(0.625)},
	{"expMin", math.Float32bits(-104)}, // exp is 0 here with flushing
	{"expMax", math.Float32bits(89)},   // exp is +Inf here
	{"saturated", math.Float32bits(20)},
	{"zero", 0},
	{"one", math.Float32bits(1)},
	{"two", math.Float32bits(2)},
	{"four", math.Float32bits(4)},
	{"magnitude", math.MaxInt32}, // all bits but the sign
}

// constantBytes is the stride of the table: 8 copies, an AVX2 operand.
const constantBytes = 32

var constantTable Mem

// genMathConstants emits the table, which all instruction sets share.
func genMathConstants() {
	constantTable = GLOBL("mathConstants", NOPTR|RODATA)
	for i, c := range mathConstants {
		for j := range constantBytes / 4 {
			DATA(i*constantBytes+4*j, U32(c.bits))
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
	for i, c := range mathConstants {
		if c.name == name {
			return constantTable.Offset(i * constantBytes)
		}
	}
	panic("no constant " + name)
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
