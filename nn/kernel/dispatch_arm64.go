package kernel

// The calls below are what the drivers need of an architecture; arm64 has one
// vector tier, without bf16. They are no function variables: an indirect call would move its
// argument struct to the heap.

// panelsNext returns how many of left panels the next tiles take.
func panelsNext(left int) int { return 1 }

// callGemm8 computes full tiles of 8 rows by one panel.
func callGemm8(a *gemmArgs, np int) { gemm8x16NEON(bytesOf(a)) }

// callGemm1 computes single rows of np = 1 or 4 panels.
func callGemm1(a *gemmArgs, np int) {
	if np == 1 {
		gemm1x16NEON(bytesOf(a))
	} else {
		gemm1x64NEON(bytesOf(a))
	}
}

// gradRows returns the height of a full block of the weight-gradient kernels.
func gradRows() int { return 4 }

// callGrad adds to full blocks of gradRows rows by one panel.
func callGrad(a *gradArgs, np int) { grad4x16NEON(bytesOf(a)) }

// callGrad1 adds to single rows of one panel.
func callGrad1(a *gradArgs, np int) { grad1x16NEON(bytesOf(a)) }

// callAffine runs affine, or affineRes where a has a residual.
func callAffine(a *affineArgs, _ bool) {
	if a.res != nil {
		affineResNEON(bytesOf(a))
	} else {
		affineNEON(bytesOf(a))
	}
}

// callAffine2 runs affine2.
func callAffine2(a *affineArgs, _ bool) { affine2NEON(bytesOf(a)) }

// sumPanels returns how many panels the wider column-sum kernels take.
func sumPanels() int { return 2 }

// callSums sums np panels of columns, masked where a has a mask.
func callSums(a *sumArgs, np int, _ bool) {
	many, masked, p := np > 1, a.mask != nil, bytesOf(a)
	switch {
	case masked && many:
		sumProductMask32NEON(p)
	case masked:
		sumProductMask16NEON(p)
	case many:
		sumProduct32NEON(p)
	default:
		sumProduct16NEON(p)
	}
}

// callFlat runs an element-wise operation.
func callFlat(op flatOp, a *flatArgs) {
	p := bytesOf(a)
	switch op {
	case flatReLU:
		flatReLUNEON(p)
	case flatReLUBackward:
		flatReLUBackwardNEON(p)
	case flatAdd:
		flatAddNEON(p)
	case flatAxpy:
		flatAxpyNEON(p)
	case flatScale:
		flatScaleNEON(p)
	}
}

// callSGD runs a step of SGD with Nesterov momentum.
func callSGD(a *optArgs) { sgdNEON(bytesOf(a)) }

// callAdamW runs a step of AdamW.
func callAdamW(a *optArgs) { adamwNEON(bytesOf(a)) }
