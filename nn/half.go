package nn

import "math"

// Float16 widens an IEEE binary16 number: 1 sign, 5 exponent, 10 fraction bits.
func Float16(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // zero and subnormal: fraction * 2^-24
		f := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// ToFloat16 rounds a number that is not NaN to the nearest IEEE binary16, ties to even; what
// rounds beyond 65504 becomes infinite.
func ToFloat16(x float32) uint16 {
	const lost, infinite = 23 - 10, 0x7c00 // bits of the mantissa
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &^= 1 << 31
	if size := math.Float32frombits(bits); size < 1.0/(1<<14) { // multiples of 2^-24
		return sign | uint16(math.RoundToEven(float64(size)*(1<<24)))
	}
	bits -= (127 - 15) << 23 // of exponents
	return sign | uint16(min((bits+1<<(lost-1)-1+bits>>lost&1)>>lost, infinite))
}

// ToBFloat16 rounds a number that is not NaN to the nearest bfloat16, ties to even.
func ToBFloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
