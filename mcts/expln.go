package mcts

import "math"

// Exponential and logarithm with the same result on every CPU: those of package
// math are assembly on some, and fuse products and sums on some.

// tinyPrior stands for a prior of zero, whose logarithm is not finite: the
// smallest normal float32.
const tinyPrior = 0x1p-126

// notZero returns a prior, tinyPrior for 0.
func notZero(prior float32) float64 {
	if prior < tinyPrior {
		return tinyPrior
	}
	return float64(prior)
}

const (
	log2E = 1.44269504088896338700
	ln2Hi = 6.93147180369123816490e-01 // the upper 33 bits of ln 2, and the rest
	ln2Lo = 1.90821492927058770002e-10
)

// expNeg returns e^x for x <= 0, with a relative error below 1e-13; below -700
// it returns 0.
func expNeg(x float64) float64 {
	if !(x > -700) {
		return 0
	}
	k := math.Floor(float64(x*log2E) + 0.5)
	r := x - float64(k*ln2Hi) - float64(k*ln2Lo) // |r| <= ln(2)/2
	// Taylor series to r^12, in pairs, so that few products wait for each other.
	r2 := r * r
	r4 := r2 * r2
	a := float64((1.0/39916800)*r) + 1.0/3628800 // r^10, r^11
	b := float64((1.0/362880)*r) + 1.0/40320     // r^8, r^9
	c := float64((1.0/5040)*r) + 1.0/720         // r^6, r^7
	d := float64((1.0/120)*r) + 1.0/24           // r^4, r^5
	e := float64((1.0/6)*r) + 1.0/2              // r^2, r^3
	high := float64((float64((1.0/479001600)*r2)+a)*r2) + b
	middle := float64(c*r2) + d
	low := float64(e*r2) + (1 + r)
	p := float64((float64(high*r4)+middle)*r4) + low
	return p * math.Float64frombits(uint64(1023+int(k))<<52)
}

// ln returns the natural logarithm of a finite x > 0, with an error below 1e-15
// relative or absolute.
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	// ln m = 2 artanh(s), |s| < 0.172.
	s := (m - 1) / (m + 1)
	z := s * s
	p := 0.0
	for k := 21; k >= 1; k -= 2 {
		p = float64(p*z) + 1/float64(k)
	}
	return float64(float64(e)*ln2Hi) + (float64(2*s*p) + float64(float64(e)*ln2Lo))
}
