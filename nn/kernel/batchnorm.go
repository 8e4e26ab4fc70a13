package kernel

// statRows is how many rows a sum runs in float32 before it goes to float64:
// one board. Blocks start at row 0 of the call, so the result depends on the
// split of rows into calls, but on nothing else.
const statRows = 64

// BatchNormStats adds the per-channel sums of x [rows][c] and of its squares to
// sum and sumsq [c]. Sums are float32 within 64 rows, float64 above.
// variance = sumsq/count - mean^2; its error is about 1e-6*(mean^2+variance).
func BatchNormStats(sum, sumsq []float64, x []float32, rows, c int) {
	columnSums(sum, sumsq, &sumOp{u: x, v: Stored{F32: x}}, rows, c)
}

// BatchNormApply computes y = act(x*scale + shift) with scale, shift [c]
// (scale = gamma/sqrt(var+eps), shift = beta - mean*scale). y may be x.
func BatchNormApply(y, x, scale, shift []float32, rows, c int, act Act) {
	affineAct(y, Stored{F32: x}, scale, shift, nil, rows, c, act)
}

// BatchNormApplyResidual computes y = act(x*scale + shift + res). y may be x or
// res. A squeeze-and-excitation gate per board is SEApply.
func BatchNormApplyResidual(y, x, scale, shift, res []float32, rows, c int, act Act) {
	affineAct(y, Stored{F32: x}, scale, shift, res[:rows*c], rows, c, act)
}

// BatchNormBackwardStats adds to dsum [c] the sums of dy and to dxhat [c] the
// sums of dy*xhat, xhat = (x-mean)*invstd; x is the layer's input, invstd =
// 1/sqrt(var+eps). dsum is the gradient of beta, dxhat that of gamma.
func BatchNormBackwardStats(dsum, dxhat []float64, dy, x, mean, invstd []float32, rows, c int) {
	BatchNormBackwardStatsStored(dsum, dxhat, dy, Stored{F32: x}, mean, invstd, rows, c)
}

// BatchNormReLUBackwardStats is BatchNormBackwardStats through a ReLU whose
// output was y: dy counts where y > 0 only. gated takes dy where y > 0, else 0;
// it may be dy.
func BatchNormReLUBackwardStats(dsum, dxhat []float64, gated, dy, y, x, mean, invstd []float32, rows, c int) {
	BatchNormReLUBackwardStatsStored(dsum, dxhat, gated, dy, y, Stored{F32: x}, mean, invstd, rows, c)
}

// backwardStats scales the second sums of op by invstd.
func backwardStats(dsum, dxhat []float64, op *sumOp, invstd []float32, rows, c int) {
	op.scale = invstd
	columnSums(dsum, dxhat, op, rows, c)
}

// BatchNormBackward computes the gradient of the layer's input with batch
// statistics: dx = gamma*invstd*(dy - dsum/count - xhat*dxhat/count). dsum and
// dxhat are the totals of BatchNormBackwardStats over all count rows of the
// batch, of which rows are given here. dx may be dy.
func BatchNormBackward(dx, dy, x, mean, invstd, gamma []float32, dsum, dxhat []float64, count, rows, c int) {
	BatchNormBackwardStored(dx, dy, Stored{F32: x}, mean, invstd, gamma, dsum, dxhat, count, rows, c)
}

// affineAct is affine with any activation.
func affineAct(y []float32, x Stored, scale, shift, res []float32, rows, c int, act Act) {
	y, x, scale, shift = y[:rows*c], x.Slice(0, rows*c), scale[:c], shift[:c]
	act, mish := act.split()
	affine(y, x, scale, shift, res, rows, c, act)
	if mish {
		MishForward(y, y)
	}
}

// affine computes y = act(x*scale + shift + res); res may be nil. A row's
// result does not depend on the others.
func affine(y []float32, x Stored, scale, shift, res []float32, rows, c int, act Act) {
	if x.vectors(c) {
		affineVec(y, x, scale, shift, res, rows, c, act)
		return
	}
	for r := range rows {
		yr := y[r*c:][:c]
		for j := range yr {
			v := x.float(r*c+j)*scale[j] + shift[j]
			if res != nil {
				v += res[r*c+j]
			}
			if act == ReLU {
				v = relu(v)
			}
			yr[j] = v
		}
	}
}

// affine2 computes dx = a*dy + b*x + d for the len(a) channels from c0 on of
// rows of c channels.
func affine2(dx, dy []float32, x Stored, a, b, d []float32, rows, c, c0 int) {
	if x.vectors(c) && len(a)%panel == 0 {
		affine2Vec(dx, dy, x, a, b, d, rows, c, c0)
		return
	}
	for r := range rows {
		for i := range a {
			j := r*c + c0 + i
			dx[j] = a[i]*dy[j] + b[i]*x.float(j) + d[i]
		}
	}
}
