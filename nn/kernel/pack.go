package kernel

// panel is the width of a packed column group: one AVX-512 register, two AVX2
// registers. Packed weights are [ceil(n/panel)][k][panel], the last panel
// filled up with zeros; k runs over (ky, kx, input channel) in a convolution.
const panel = 16

// roundUp returns the smallest multiple of m that is >= n.
func roundUp(n, m int) int { return (n + m - 1) / m * m }

// PackedConv3Len returns the length of a packed 3x3 convolution ci -> co.
func PackedConv3Len(ci, co int, p Precision) int {
	switch {
	case direct(ci, co, p):
		return directPackedLen(ci, co)
	case winograd(ci, co):
		return winogradPackedLen(ci, co, p.here())
	}
	return 9 * ci * roundUp(co, panel)
}

// PackConv3 packs w [co][ci][3][3] (ky along ranks, rank 1 first) for Conv3
// with the same ci, co and precision in the active tier.
func PackConv3(dst, w []float32, ci, co int, p Precision) {
	packConv3(dst, w[:co*ci*9], ci, 1, false, ci, co, p)
}

// PackConv3Transposed packs w [co][ci][3][3] of a convolution ci -> co for its
// data gradient: Conv3(dx, dy, packed, nil, boards, co, ci, None, p, scratch). The
// kernel is turned by 180 degrees and the channels are exchanged. dst has
// PackedConv3Len(co, ci, p) floats.
func PackConv3Transposed(dst, w []float32, ci, co int, p Precision) {
	packConv3(dst, w[:co*ci*9], 1, ci, true, co, ci, p)
}

// packConv3 packs a convolution ci -> co whose taps from input channel i to output
// channel o are the 9 floats from w[(o*outStride+i*inStride)*9] on, turned: in reverse
// order.
func packConv3(dst, w []float32, outStride, inStride int, turned bool, ci, co int, p Precision) {
	dst = dst[:PackedConv3Len(ci, co, p)]
	if direct(ci, co, p) {
		directPack(dst, w, outStride, inStride, turned, ci, co)
		return
	}
	if winograd(ci, co) {
		winogradPack(dst, w, outStride, inStride, turned, ci, co, p.here())
		return
	}
	clear(dst)
	for o := range co {
		base := o/panel*9*ci*panel + o%panel
		for i := range ci {
			for t, v := range w[(o*outStride+i*inStride)*9:][:9] {
				if turned {
					t = 8 - t
				}
				dst[base+(t*ci+i)*panel] = v
			}
		}
	}
}

// PackedMatLen returns the length of a packed matrix with k inputs and n outputs.
func PackedMatLen(k, n int) int { return k * roundUp(n, panel) }

// PackMat packs w [n][k] (row-major: output, input) for MatMul with the same k
// and n.
func PackMat(dst, w []float32, k, n int) {
	dst = dst[:PackedMatLen(k, n)]
	w = w[:n*k]
	full := n / panel
	TransposeRows(dst, w, full, panel, k)
	if n%panel == 0 {
		return
	}
	last := dst[full*k*panel:]
	clear(last)
	for o := full * panel; o < n; o++ {
		for i, v := range w[o*k:][:k] {
			last[i*panel+o%panel] = v
		}
	}
}

// PackMatTransposed packs w [n][k] for dX = dY*W: MatMul(dx, dy, packed, nil,
// rows, n, k, None). dst has PackedMatLen(n, k) floats.
func PackMatTransposed(dst, w []float32, k, n int) {
	packTransposed(dst, w[:n*k], k, k, n)
}

// packTransposed is PackMatTransposed of rows that lie stride floats apart. It returns what
// it has written.
func packTransposed(dst, w []float32, stride, k, n int) []float32 {
	dst = dst[:PackedMatLen(n, k)]
	full := k / panel
	for o := range n {
		row := w[o*stride:][:k]
		for p := range full {
			*(*[panel]float32)(dst[(p*n+o)*panel:]) = [panel]float32(row[p*panel:])
		}
		if k%panel != 0 {
			last := dst[(full*n+o)*panel:][:panel]
			clear(last[copy(last, row[full*panel:]):])
		}
	}
	return dst
}

// TransposeRows transposes n matrices: dst [n][cols][rows] from src
// [n][rows][cols]. dst may not overlap src.
func TransposeRows(dst, src []float32, n, rows, cols int) {
	const block = 8 // written together
	for range n {
		r := 0
		if cols > 0 && cols%panel == 0 {
			for r+panel <= rows && transposeBlocks(dst[r:], src[r*cols:], rows, cols, panel*rows, panel, cols/panel) {
				r += panel
			}
		}
		for ; r+block <= rows; r += block {
			r0, r1, r2, r3 := src[r*cols:][:cols], src[(r+1)*cols:][:cols], src[(r+2)*cols:][:cols], src[(r+3)*cols:][:cols]
			r4, r5, r6, r7 := src[(r+4)*cols:][:cols], src[(r+5)*cols:][:cols], src[(r+6)*cols:][:cols], src[(r+7)*cols:][:cols]
			for c := range cols {
				to := (*[block]float32)(dst[c*rows+r:])
				to[0], to[1], to[2], to[3] = r0[c], r1[c], r2[c], r3[c]
				to[4], to[5], to[6], to[7] = r4[c], r5[c], r6[c], r7[c]
			}
		}
		for ; r < rows; r++ {
			for c := range cols {
				dst[c*rows+r] = src[r*cols+c]
			}
		}
		dst, src = dst[rows*cols:], src[rows*cols:]
	}
}

// transposeBlocks transposes n blocks of 16 by 16 floats of src to dst, or returns
// false where the tier has no kernel for it. Strides are in floats: of rows, and of blocks.
func transposeBlocks(dst, src []float32, dstRow, srcRow, dstStep, srcStep, n int) bool {
	f := vectors().transpose
	if f == nil {
		return false
	}
	const last = panel - 1
	_, _ = src[(n-1)*srcStep+last*srcRow+last], dst[(n-1)*dstStep+last*dstRow+last]
	a := transposeArgs{
		srcRow: uintptr(srcRow * f32), dstRow: uintptr(dstRow * f32),
		srcStep: uintptr(srcStep * f32), dstStep: uintptr(dstStep * f32),
	}
	const maxBlocks = maxCallFloats / (panel * panel)
	for i := 0; i < n; i += maxBlocks {
		a.src, a.dst, a.n = at(src, i*srcStep), at(dst, i*dstStep), uintptr(min(maxBlocks, n-i))
		run(f, &a)
	}
	return true
}
