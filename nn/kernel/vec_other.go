//go:build !amd64 && !arm64

package kernel

// Without assembly only the generic tier exists. vecFlat leaves everything to
// its caller; nothing else below is reached.

const (
	bestTier      = Generic
	slowestVector = bestTier + 1
)

func hasBF16() bool { return false }

func conv3Vec(y, x, packed, bias []float32, boards, ci, co int, act Act, scratch []float32) {
	conv3Generic(y, x, packed, bias, boards, ci, co, act)
}

func conv3WeightGradVec(grad, x, dy []float32, boards, ci, co int, pad []float32) {
	conv3WeightGradGeneric(grad, x, dy, boards, ci, co)
}

func matMulVec(y, x, packed, bias []float32, rows, k, n int, act Act) {
	matMulGeneric(y, x, packed, bias, rows, k, n, act)
}

func matMulWeightGradVec(dw, x, dy []float32, rows, k, n int, scratch []float32) int { return 0 }

func affineVec(y []float32, x Stored, scale, shift, res []float32, rows, c int, act Act) {
	panic("kernel: no vectors")
}

func affine2Vec(dx, dy []float32, x Stored, a, b, d []float32, rows, c, c0 int) {
	panic("kernel: no vectors")
}

func blockSumsVec(t1, t2 *[sumGroup]float32, op *sumOp, rows, c, c0, w int) {
	panic("kernel: no vectors")
}

func vecFlat(op flatOp, y, a, b []float32, alpha float32) bool { return false }

func sgdVec(w, g, m []float32, lr, momentum, decay float32) { panic("kernel: no vectors") }

func adamVec(w, g, m, v []float32, lr, b1, b2, eps, decay, bc1, bc2 float32) {
	panic("kernel: no vectors")
}

func peakRun(Precision) float64 { return peakGeneric() }
