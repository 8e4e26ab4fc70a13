package kernel

// headSquares are what attend and are attended to.
const headSquares = 64

// AttendScratchLen returns the scratch length of AttendHead and its relatives.
func AttendScratchLen(depth int) int {
	return max(PackedMatLen(depth, headSquares), PackedMatLen(headSquares, depth))
}

// AttendHead is one head of attention over the 64 squares of a board: it sets p [64][64] to
// the softmax over its second index of scale*q*k^T + extra, and y to p*v. Of q, k and v,
// number i of a square is x[square*stride+i], i < depth, and of y likewise with yStride.
// extra [64][64] may be nil. scratch has AttendScratchLen(depth) floats of any contents.
func AttendHead(y []float32, yStride int, p, q, k, v []float32, stride, depth int, scale float32, extra, scratch []float32) {
	p = p[:headSquares*headSquares]
	packed := packHead(scratch, k, stride, depth)
	if scale != 1 {
		Scale(packed, scale)
	}
	headProduct(p, q, packed, depth, headSquares, stride, headSquares)
	if extra != nil {
		Add(p, p, extra[:len(p)])
	}
	SoftmaxRows(p, headSquares, headSquares)
	WeighHead(y, yStride, p, v, stride, depth, scratch)
}

// WeighHead is the last part of AttendHead: y = p*v.
func WeighHead(y []float32, yStride int, p, v []float32, stride, depth int, scratch []float32) {
	headProduct(y, p, packTransposed(scratch, v, stride, depth, headSquares), headSquares, depth, headSquares, yStride)
}

// AttendHeadBackward sets dp to the gradient of what AttendHead takes the softmax of, and
// dq, dk and dv to those of q, k and v, from dy, that of y. p is what AttendHead made with a
// scale of 1. Strides are those of AttendHead, and of dq, dk and dv that of q, k and v.
func AttendHeadBackward(dq, dk, dv, dp, p, q, k, v []float32, stride int, dy []float32, yStride, depth int, scratch []float32) {
	p, dp = p[:headSquares*headSquares], dp[:headSquares*headSquares]
	headProduct(dp, dy, packHead(scratch, v, stride, depth), depth, headSquares, yStride, headSquares)
	headOuter(dv, stride, p, dy, yStride, depth)
	SoftmaxRowsBackward(dp, dp, p, headSquares, headSquares)
	headOuter(dk, stride, dp, q, stride, depth)
	headProduct(dq, dp, packTransposed(scratch, k, stride, depth, headSquares), headSquares, depth, headSquares, stride)
}

// packHead is PackMat of a head's rows [64][depth], which lie stride floats apart.
func packHead(dst, x []float32, stride, depth int) []float32 {
	dst = dst[:PackedMatLen(depth, headSquares)]
	for p := 0; p < headSquares; p += panel {
		to, from := dst[p*depth:][:panel*depth], x[p*stride:]
		if depth%panel == 0 && transposeBlocks(to, from, panel, stride, panel*panel, panel, depth/panel) {
			continue
		}
		for sq := range panel {
			for i, v := range from[sq*stride:][:depth] {
				to[i*panel+sq] = v
			}
		}
	}
	return dst
}

// headProduct is MatMul of 64 rows of k numbers by n, which lie xRow and yRow floats apart.
func headProduct(y, x, packed []float32, k, n, xRow, yRow int) {
	_, _ = x[(headSquares-1)*xRow+k-1], y[(headSquares-1)*yRow+n-1]
	if ActiveTier() != Generic {
		matMulVec(y, x, packed, nil, headSquares, k, n, xRow, yRow, None)
		return
	}
	for r := range headSquares {
		matMulGeneric(y[r*yRow:][:n], x[r*xRow:][:k], packed, nil, 1, k, n, None)
	}
}

// headOuter sets dst to p^T*x for p [64][64]; rows of dst and x have depth numbers.
func headOuter(dst []float32, dstRow int, p, x []float32, xRow, depth int) {
	_, _ = dst[(headSquares-1)*dstRow+depth-1], x[(headSquares-1)*xRow+depth-1]
	full := 0
	if ActiveTier() != Generic {
		full = depth / panel * panel
	}
	for c := 0; c < full; {
		np := min(vectors().pointPanels, (full-c)/panel)
		sumPoints(&pointGradArgs{
			dst: at(dst, c), a: at(p, 0), b: at(x, c), dstRow: uintptr(dstRow * f32), aStep: headSquares * f32, bStep: uintptr(xRow * f32),
			length: headSquares, blocks: uintptr(headSquares / vectors().gradRows), points: 1,
		}, np, FP32)
		c += np * panel
	}
	for to := 0; to < headSquares && full < depth; to++ {
		sum := dst[to*dstRow+full:][:depth-full]
		clear(sum)
		for from := range headSquares {
			w := p[from*headSquares+to]
			for i, v := range x[from*xRow+full:][:len(sum)] {
				sum[i] += w * v
			}
		}
	}
}
