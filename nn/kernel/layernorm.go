package kernel

import "math"

// LayerNorm sets y = beta + gamma*(z-mean)/sqrt(var+eps) with z = alpha*x + skip, where
// mean and var (biased) are those of a row of z over its c channels; var is summed from
// the differences to the mean. x, skip, y are [rows][c], gamma, beta [c]; skip may be nil:
// z = alpha*x. y may be x or skip. A row's result does not depend on the others.
func LayerNorm(y, x, skip []float32, alpha float32, gamma, beta []float32, rows, c int, eps float32) {
	y, x, skip = y[:rows*c], x[:rows*c], cut(skip, 0, rows, c)
	gamma, beta = gamma[:c], beta[:c]
	if len(y) == 0 {
		return
	}
	if layerNormVec(y, x, skip, alpha, gamma, beta, rows, c, eps) {
		return
	}
	for r := range rows {
		layerNormRow(cut(y, r, 1, c), cut(x, r, 1, c), cut(skip, r, 1, c), alpha, gamma, beta, eps)
	}
}

// layerNormRow is LayerNorm of one row. Sums are in float64.
func layerNormRow(y, x, skip []float32, alpha float32, gamma, beta []float32, eps float32) {
	sum, squares, count := 0.0, 0.0, float64(len(x))
	for j, v := range x {
		z := alpha * v
		if skip != nil {
			z += skip[j]
		}
		y[j] = z
		sum += float64(z)
	}
	mean := sum / count
	for _, z := range y {
		d := float64(z) - mean
		squares += d * d
	}
	inv := 1 / math.Sqrt(squares/count+float64(eps))
	for j, z := range y {
		y[j] = float32((float64(z)-mean)*inv)*gamma[j] + beta[j]
	}
}
