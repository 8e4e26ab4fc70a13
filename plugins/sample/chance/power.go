package chance

import "math"

// log2 in numbers: 1/ln 2.
const perLn2 = 1 / math.Ln2

// Power returns x^a for x >= 0 and a >= 0, within some 1e-13 of its size
// for results in the range of normal numbers; 0^0 is 1. math.Pow differs in the
// last bits between machines, with and without fused multiply-add; this does
// not: every product is rounded before it is added to. NaN for x < 0 or NaN.
func Power(x, a float64) float64 {
	switch {
	case a == 0:
		return 1
	case a == 1 || x == 0 || x == 1 || math.IsInf(x, 1):
		return x
	case a == 0.5:
		return math.Sqrt(x)
	case !(x > 0):
		return math.NaN()
	}
	return exp2(float64(a * log2(x)))
}

// log2 returns the binary logarithm of a finite x > 0: x is m*2^e with m from
// sqrt(1/2) to sqrt(2), and ln m = 2 artanh((m-1)/(m+1)) by its series.
func log2(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	square, sum := s*s, 0.0
	for k := 21; k >= 3; k -= 2 { // |s| <= 0.172: the next term is below 2^-60 of the first
		sum = float64((sum + 1/float64(k)) * square)
	}
	return float64(e) + float64(2*s*(1+sum)*perLn2)
}

// exp2 returns 2^y: 2^round(y) times e^r with |r| <= ln(2)/2 by its series.
func exp2(y float64) float64 {
	if y > 1024 {
		return math.Inf(1)
	}
	if y < -1100 {
		return 0
	}
	whole := math.Floor(y + 0.5)
	r := float64((y - whole) * math.Ln2)
	sum := 1.0
	for k := 15; k >= 1; k-- { // Horner; the next term is below 2^-60
		sum = 1 + float64(sum*r)/float64(k)
	}
	return math.Ldexp(sum, int(whole))
}
