package kernel

// AttendScratchLen returns the scratch length of AttendHead.
func AttendScratchLen(depth int) int {
	return 4*64*depth + max(PackedMatLen(depth, 64), PackedMatLen(64, depth))
}

// AttendHead is one head of attention over the 64 squares of a board: it sets p [64][64] to
// the softmax over its second index of scale*q*k^T + extra, and y to p*v. Of q, k and v,
// number i of a square is x[square*stride+i], i < depth, and of y likewise with yStride.
// extra [64][64] may be nil. scratch has AttendScratchLen(depth) floats of any contents.
func AttendHead(y []float32, yStride int, p, q, k, v []float32, stride, depth int, scale float32, extra, scratch []float32) {
	p = p[:64*64]
	one := 64 * depth
	hq, hk, hv, hy, packed := scratch[:one], scratch[one:][:one], scratch[2*one:][:one], scratch[3*one:][:one], scratch[4*one:]
	GatherHead(hq, q, stride, depth)
	GatherHead(hk, k, stride, depth)
	GatherHead(hv, v, stride, depth)
	if scale != 1 {
		Scale(hq, scale)
	}
	PackMat(packed, hk, depth, 64)
	MatMul(p, hq, packed, nil, 64, depth, 64, None)
	if extra != nil {
		Add(p, p, extra[:64*64])
	}
	SoftmaxRows(p, 64, 64)
	PackMatTransposed(packed, hv, depth, 64)
	MatMul(hy, p, packed, nil, 64, 64, depth, None)
	ScatterHead(y, hy, yStride, depth)
}

// GatherHead copies the numbers of a head, as AttendHead has them in x, to dst [64][depth].
func GatherHead(dst, x []float32, stride, depth int) {
	for sq := range 64 {
		copyShort(dst[sq*depth:][:depth], x[sq*stride:])
	}
}

// ScatterHead is its inverse: src [64][depth] goes to x.
func ScatterHead(x, src []float32, stride, depth int) {
	for sq := range 64 {
		copyShort(x[sq*stride:][:depth], src[sq*depth:])
	}
}

// copyShort is copy without a call where dst is of a few whole panels: a head's part of a
// square is some 100 bytes.
func copyShort(dst, src []float32) {
	if len(dst)%panel != 0 {
		copy(dst, src)
		return
	}
	for i := 0; i < len(dst); i += panel {
		*(*[panel]float32)(dst[i:]) = [panel]float32(src[i:])
	}
}
