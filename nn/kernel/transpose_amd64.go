package kernel

// transposeBlocks transposes n blocks of 16 by 16 floats of src to dst, or returns
// false in the generic tier. Strides are in floats: of rows, and of blocks.
func transposeBlocks(dst, src []float32, dstRow, srcRow, dstStep, srcStep, n int) bool {
	if ActiveTier() == Generic {
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
		if wide() {
			transpose16AVX512(bytesOf(&a))
		} else {
			transpose16AVX2(bytesOf(&a))
		}
	}
	return true
}
