package main

import "fmt"

// Go's assembler for arm64 lacks most vector instructions on floats, so they are
// emitted as words. Encodings: Arm Architecture Reference Manual for A-profile
// (DDI 0487), chapter C7, "Advanced SIMD"; the forms on floats are Q=1, sz=0: four
// float32 lanes. Those on bf16 need FEAT_BF16.

// vec is a vector register, 0 to 31.
type vec uint32

// threeSame are the instructions op Vd.4S, Vn.4S, Vm.4S.
var threeSame = map[string]uint32{
	"fadd":  0x4e20d400, // d = n + m
	"fsub":  0x4ea0d400, // d = n - m
	"faddp": 0x6e20d400, // d = sums of neighbours, of n and then of m
	"fmul":  0x6e20dc00, // d = n * m
	"fdiv":  0x6e20fc00, // d = n / m
	"fmax":  0x4e20f400, // d = max(n, m); NaN if one is NaN
	"fmin":  0x4ea0f400, // the same of the minimum
	"fmaxp": 0x6e20f400, // d = maxima of neighbours, of n and then of m
	"fcmgt": 0x6ea0e400, // d = n > m ? all ones : 0
	"fmla":  0x4e20cc00, // d += n * m, one rounding
	"fmls":  0x4ea0cc00, // d -= n * m, one rounding
}

// twoReg are the instructions op Vd.4S, Vn.4S.
var twoReg = map[string]uint32{
	"fsqrt":  0x6ea1f800, // d = sqrt(n)
	"fcmgt0": 0x4ea0c800, // d = n > 0 ? all ones : 0; written fcmgt Vd.4S, Vn.4S, #0.0
	"frintn": 0x4e218800, // d = n rounded to an integral number, ties to even
	"fcvtns": 0x4e21a800, // d = the int32 of that; 0 for NaN
	"sshr1":  0x4f3f0400, // d = n / 2 of int32, rounded down; written sshr Vd.4S, Vn.4S, #1
}

// byElement are the instructions op Vd.4S, Vn.4S, Vm.S[lane].
var byElement = map[string]uint32{
	"fmla": 0x4f801000, // d += n * m[lane], one rounding
	"fmls": 0x4f805000, // d -= n * m[lane], one rounding
	"fmul": 0x4f809000, // d = n * m[lane]
}

// halfProducts are the instructions op Vd.4S, Vn.8H, Vm.8H on bf16. They flush denormals
// and round each step to odd, whatever FPCR says; a step adds two products.
var halfProducts = map[string]uint32{
	"bfdot":  0x6e40fc00, // d[i] += n[2i]*m[2i] + n[2i+1]*m[2i+1]
	"bfmmla": 0x6e40ec00, // d[2i+j] += n[4i+k]*m[4j+k] for k = 0 and 1, and then for 2 and 3
}

// conversion is an instruction of four lanes between formats.
type conversion struct {
	code    uint32
	d, n    string // arrangements
	operand string // a constant one
}

// conversions take four lanes to as many; those with 2 in their names use the upper half
// of the register with eight.
var conversions = map[string]conversion{
	"bfcvtn":  {0x0ea16800, "4h", "4s", ""}, // to bf16 by FPCR's rounding; the upper half becomes 0
	"bfcvtn2": {0x4ea16800, "8h", "4s", ""}, // the lower half stays
	"shll":    {0x2e613800, "4s", "4h", ", #16"},
	"shll2":   {0x6e613800, "4s", "8h", ", #16"},
}

// same encodes op Vd.4S, Vn.4S, Vm.4S and returns its text too.
func same(op string, d, n, m vec) (word uint32, text string) {
	code := lookUp(threeSame, op)
	text = fmt.Sprintf("%s v%d.4s, v%d.4s, v%d.4s", op, d, n, m)
	return code | reg(m)<<16 | reg(n)<<5 | reg(d), text
}

// two encodes op Vd.4S, Vn.4S.
func two(op string, d, n vec) (word uint32, text string) {
	code := lookUp(twoReg, op)
	text = fmt.Sprintf("%s v%d.4s, v%d.4s", op, d, n)
	switch op {
	case "fcmgt0":
		text = fmt.Sprintf("fcmgt v%d.4s, v%d.4s, #0.0", d, n)
	case "sshr1":
		text = fmt.Sprintf("sshr v%d.4s, v%d.4s, #1", d, n)
	}
	return code | reg(n)<<5 | reg(d), text
}

// element encodes op Vd.4S, Vn.4S, Vm.S[lane], lane 0 to 3: bit 0 of the lane is
// L (bit 21), bit 1 is H (bit 11); M:Rm (bits 20 to 16) is the register.
func element(op string, d, n, m vec, lane uint32) (word uint32, text string) {
	code := lookUp(byElement, op)
	if lane > 3 {
		panic(fmt.Sprintf("lane %d of 4", lane))
	}
	text = fmt.Sprintf("%s v%d.4s, v%d.4s, v%d.s[%d]", op, d, n, m, lane)
	return code | lane&1<<21 | lane>>1<<11 | reg(m)<<16 | reg(n)<<5 | reg(d), text
}

// halves encodes op Vd.4S, Vn.8H, Vm.8H.
func halves(op string, d, n, m vec) (word uint32, text string) {
	code := lookUp(halfProducts, op)
	return code | reg(m)<<16 | reg(n)<<5 | reg(d), fmt.Sprintf("%s v%d.4s, v%d.8h, v%d.8h", op, d, n, m)
}

// converted encodes a conversion of n to d.
func converted(op string, d, n vec) (word uint32, text string) {
	c := lookUp(conversions, op)
	return c.code | reg(n)<<5 | reg(d), fmt.Sprintf("%s v%d.%s, v%d.%s%s", op, d, c.d, n, c.n, c.operand)
}

// lookUp panics for an instruction that does not exist.
func lookUp[C any](codes map[string]C, op string) C {
	code, ok := codes[op]
	if !ok {
		panic("no instruction " + op)
	}
	return code
}

// reg returns the number of a register, which fits five bits.
func reg(v vec) uint32 {
	if v > 31 {
		panic(fmt.Sprintf("no register v%d", v))
	}
	return uint32(v)
}
