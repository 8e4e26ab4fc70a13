package kernel

// policyDots adds to y[i] the products of job i; k is the number of words of a
// square of pad [10][10][k], a multiple of 16. half says that words are of bf16.
func policyDots(y, pad, packed []float32, jobs []uint64, k int, half bool) {
	if ActiveTier() == Generic {
		policyDotsGeneric(y, pad, packed, jobs, k)
		return
	}
	a := policyArgs{
		y: at(y, 0), x: at(pad, 0), w: at(packed, 0), jobs: &jobs[0],
		row: uintptr(10 * k * f32), square: uintptr(k * f32), panels: uintptr(k / panel), n: uintptr(len(jobs)),
	}
	switch {
	case half:
		policyDotsBF16AVX512(bytesOf(&a))
	case wide():
		policyDotsAVX512(bytesOf(&a))
	default:
		policyDotsAVX2(bytesOf(&a))
	}
}
