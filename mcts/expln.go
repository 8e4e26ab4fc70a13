package mcts

import "math"

// Exponential and logarithm with the same result on every CPU: those of package
// math are assembly on some, and fuse products and sums on some.

// tinyPrior stands for a prior of zero, whose logarithm is not finite: the
// smallest normal float32.
const tinyPrior = 0x1p-126

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
	// Taylor series to r^12.
	p := 1.0 / 479001600
	for _, c := range [...]float64{1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
		1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1} {
		p = float64(p*r) + c
	}
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
