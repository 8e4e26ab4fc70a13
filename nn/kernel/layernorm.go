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

// LayerNormBackward is the derivative of LayerNorm. dz is set to the gradient of
// z = alpha*x + skip: that of x is alpha*dz, that of skip dz. With xhat = (z-mean)*invstd
// and g = dy*gamma, dz = invstd*(g - mean(g) - xhat*mean(g*xhat)). dy*xhat and dy are added
// to dgamma and dbeta, row by row: calls for consecutive rows give the bits of one call.
// dz, dy, x, skip are [rows][c], dgamma, dbeta, gamma [c]; skip may be nil. dz may be dy.
// A row of dz does not depend on the others.
func LayerNormBackward(dz, dgamma, dbeta, dy, x, skip []float32, alpha float32, gamma []float32, rows, c int, eps float32) {
	dz, dy, x, skip = dz[:rows*c], dy[:rows*c], x[:rows*c], cut(skip, 0, rows, c)
	dgamma, dbeta, gamma = dgamma[:c], dbeta[:c], gamma[:c]
	if len(dz) == 0 || layerNormBackwardVec(dz, dgamma, dbeta, dy, x, skip, alpha, gamma, rows, c, eps) {
		return
	}
	for r := range rows {
		layerNormRowBackward(cut(dz, r, 1, c), dgamma, dbeta, cut(dy, r, 1, c), cut(x, r, 1, c), cut(skip, r, 1, c), alpha, gamma, eps)
	}
}

// layerNormRowBackward is LayerNormBackward of one row. Sums over channels are in float64.
func layerNormRowBackward(dz, dgamma, dbeta, dy, x, skip []float32, alpha float32, gamma []float32, eps float32) {
	sum, squares, count := 0.0, 0.0, float64(len(x))
	for j := range x {
		sum += normInput(x, skip, alpha, j)
	}
	mean := sum / count
	for j := range x {
		d := normInput(x, skip, alpha, j) - mean
		squares += d * d
	}
	inv := 1 / math.Sqrt(squares/count+float64(eps))
	sumG, sumGX := 0.0, 0.0
	for j, u := range dy {
		xhat, g := (normInput(x, skip, alpha, j)-mean)*inv, float64(u)*float64(gamma[j])
		sumG += g
		sumGX += g * xhat
		dgamma[j] += float32(float64(u) * xhat)
		dbeta[j] += u
	}
	meanG, meanGX := sumG/count, sumGX/count
	for j, u := range dy {
		xhat, g := (normInput(x, skip, alpha, j)-mean)*inv, float64(u)*float64(gamma[j])
		dz[j] = float32(inv * (g - meanG - xhat*meanGX))
	}
}

// normInput returns element j of z = alpha*x + skip as layerNormRow rounds it.
func normInput(x, skip []float32, alpha float32, j int) float64 {
	z := alpha * x[j]
	if skip != nil {
		z += skip[j]
	}
	return float64(z)
}
