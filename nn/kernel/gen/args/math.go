package args

import "math"

// MathConstants are the constants of exp and tanh. The polynomials are minimax
// fits of the relative error: exp(r) = 1 + r + r^2*e(r) for |r| <= ln(2)/2 within
// 0.06*2^-24, tanh(x) = x + x^3*t(x^2) for |x| < tanhSmall within 0.08*2^-24.
var MathConstants = []struct {
	Name string
	Bits uint32
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

// MathConstant returns the place of a constant. It panics for one that does not exist.
func MathConstant(name string) int {
	for i, c := range MathConstants {
		if c.Name == name {
			return i
		}
	}
	panic("no constant " + name)
}
