package mcts

import "math"

// A policy temperature raises priors to the power of 1 / temperature, so that a search
// looks at more moves than the net would. The powers are approximate, within some 1e-4 of
// themselves, and the same on every CPU.

// temper raises the priors of a node's choices to a power and makes them sum to what
// they did.
func temper(choices []choice, exponent float32) {
	before, after := float32(0), float32(0)
	for k := range choices {
		c := &choices[k]
		before += c.prior
		c.prior = exp2(float32(exponent * log2(c.prior)))
		after += c.prior
	}
	scale := before / after
	for k := range choices {
		choices[k].prior *= scale
	}
}

// log2 returns the logarithm to base 2 of x >= 0, about -127 for 0, with an error below 3e-6
// beside the rounding.
func log2(x float32) float32 {
	b := math.Float32bits(x)
	t := math.Float32frombits(b&0x7fffff|0x3f800000) - 1 // x = 2^e * (1 + t)
	// log2(1+t) = t + t * (1-t) * p(t), p by least squares.
	p := float32(0.025285506*t) - 0.0948147534
	p = float32(p*t) + 0.181154204
	p = float32(p*t) - 0.275386207
	p = float32(p*t) + 0.442527273
	return float32(int32(b>>23)-127) + (t + float32(float32(t*(1-t))*p))
}

// exp2 returns 2^x for x <= 0, with a relative error below 5e-6; for all below -126 it
// returns 2^-126.
func exp2(x float32) float32 {
	if x < -126 {
		x = -126
	}
	e := int32(x)
	f := x - float32(e)
	if f < 0 {
		e, f = e-1, f+1
	}
	// 2^f = 1 + f + f * (1-f) * p(f), p by least squares.
	p := float32(-0.0136894552*f) - 0.0654555105
	p = float32(p*f) - 0.306995119
	return math.Float32frombits(uint32(e+127)<<23) * (1 + (f + float32(float32(f*(1-f))*p)))
}
