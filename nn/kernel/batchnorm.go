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

// BatchNormApply computes y = act(x*scale + shift + res) with scale, shift [c]
// (scale = gamma/sqrt(var+eps), shift = beta - mean*scale); res may be nil. y may be
// res, and x where that is float32. A squeeze-and-excitation gate per board is SEApply.
func BatchNormApply(y []float32, x Stored, scale, shift, res []float32, rows, c int, act Act) {
	y, x, scale, shift = y[:rows*c], x.Slice(0, rows*c), scale[:c], shift[:c]
	act, after := act.split()
	affine(y, x, scale, shift, cut(res, 0, rows, c), rows, c, act)
	after.second(y)
}

// BatchNormBackwardStats adds to dsum [c] the sums of dy and to dxhat [c] the
// sums of dy*xhat, xhat = (x-mean)*invstd; x is the layer's input, invstd =
// 1/sqrt(var+eps). dsum is the gradient of beta, dxhat that of gamma.
func BatchNormBackwardStats(dsum, dxhat []float64, dy []float32, x Stored, mean, invstd []float32, rows, c int) {
	columnSums(dsum, dxhat, &sumOp{u: dy, v: x, mean: mean, scale: invstd}, rows, c)
}

// BatchNormReLUBackwardStats is BatchNormBackwardStats through a ReLU whose
// output was y: dy counts where y > 0 only. gated takes dy where y > 0, else 0;
// it may be dy.
func BatchNormReLUBackwardStats(dsum, dxhat []float64, gated, dy, y []float32, x Stored, mean, invstd []float32, rows, c int) {
	columnSums(dsum, dxhat, &sumOp{u: dy, v: x, mask: y, store: gated[:rows*c], mean: mean, scale: invstd}, rows, c)
}

// BatchNormBackward computes the gradient of the layer's input with batch
// statistics: dx = gamma*invstd*(dy - dsum/count - xhat*dxhat/count). dsum and
// dxhat are the totals of BatchNormBackwardStats over all count rows of the
// batch, of which rows are given here. dx may be dy.
func BatchNormBackward(dx, dy []float32, x Stored, mean, invstd, gamma []float32, dsum, dxhat []float64, count, rows, c int) {
	dx, dy, x = dx[:rows*c], dy[:rows*c], x.Slice(0, rows*c)
	// dx = a*dy + b*x + d, the channels in groups that fit a stack buffer.
	const group = 128
	var a, b, d [group]float32
	for c0 := 0; c0 < c; c0 += group {
		n := min(group, c-c0)
		for i := range n {
			j := c0 + i
			s := float64(gamma[j]) * float64(invstd[j])
			bj := -s * float64(invstd[j]) * dxhat[j] / float64(count)
			a[i], b[i] = float32(s), float32(bj)
			d[i] = float32(-s*dsum[j]/float64(count) - bj*float64(mean[j]))
		}
		affine2(dx, dy, x, a[:n], b[:n], d[:n], rows, c, c0)
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
