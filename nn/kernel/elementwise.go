package kernel

// Add sets y = a + b. y may be a or b.
func Add(y, a, b []float32) {
	y, b = y[:len(a)], b[:len(a)]
	if vecFlat(flatAdd, y, a, b, 0) {
		return
	}
	for i := range a {
		y[i] = a[i] + b[i]
	}
}

// Axpy sets y += alpha*x.
func Axpy(y []float32, alpha float32, x []float32) {
	y = y[:len(x)]
	if vecFlat(flatAxpy, y, x, y, alpha) {
		return
	}
	for i := range x {
		y[i] += alpha * x[i]
	}
}

// Scale sets x *= alpha.
func Scale(x []float32, alpha float32) { Scaled(x, x, alpha) }

// Scaled sets y = alpha*x. y may be x.
func Scaled(y, x []float32, alpha float32) {
	y = y[:len(x)]
	if vecFlat(flatScale, y, x, nil, alpha) {
		return
	}
	for i, v := range x {
		y[i] = alpha * v
	}
}

// SumSquares returns the sum of x*x in float64, in which every square is exact;
// NaN and Inf pass through. The order of the sum depends on len(x) alone.
func SumSquares(x []float32) float64 {
	if s, ok := sumSquaresVec(x); ok {
		return s
	}
	// Four sums: one chain of float64 additions would wait for its latency.
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		v := (*[4]float32)(x[i:])
		a, b, c, d := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
		s0 += a * a
		s1 += b * b
		s2 += c * c
		s3 += d * d
	}
	for ; i < len(x); i++ {
		a := float64(x[i])
		s0 += a * a
	}
	return (s0 + s1) + (s2 + s3)
}

// flatOp names an element-wise vector kernel over (y, a, b, alpha). Those of
// transcendental functions and their gradients come last.
type flatOp uint8

const (
	flatReLU            flatOp = iota // y = max(0, a)
	flatReLUBackward                  // y = a where b > 0, else 0
	flatAdd                           // y = a + b
	flatAxpy                          // y = b + alpha*a
	flatScale                         // y = alpha*a
	flatSquare                        // y = min(max(a,0),alpha)^2
	flatSquareBackward                // y = 2*a*b where 0 < b < alpha, else 0
	mathMish                          // y = mish(a)
	mathMishBackward                  // y = a*mish'(b)
	mathSwish                         // y = swish(a)
	mathSwishBackward                 // y = a*swish'(b)
	mathSigmoid                       // y = sigmoid(a)
	mathSigmoidBackward               // y = a*b*(1-b)
	mathTanh                          // y = tanh(a)
	mathTanhBackward                  // y = a*(1-b*b)
	numFlatOps
)
