package kernel

import "unsafe"

// The calls below choose the assembly of the active tier. They are switches and
// not function variables: an indirect call would move its argument struct to the
// heap.

// panelsNext returns how many of left panels the next tiles take. In AVX-512 a
// single panel is slow, so three are taken where two would leave one.
func panelsNext(left int) int {
	switch {
	case !wide() || left == 1:
		return 1
	case left == 3 || left == 5:
		return 3
	}
	return 2
}

// callGemm8 computes full tiles of 8 rows by np panels.
func callGemm8(a *gemmArgs, np int) {
	switch {
	case !wide(): // two tiles of 4 rows
		low := *a
		low.x = (*float32)(unsafe.Add(unsafe.Pointer(a.x), 4*a.xRow))
		low.y = (*float32)(unsafe.Add(unsafe.Pointer(a.y), 4*a.yRow))
		gemm4x16AVX2(bytesOf(a))
		gemm4x16AVX2(bytesOf(&low))
	case np == 1:
		gemm8x16AVX512(bytesOf(a))
	case np == 2:
		gemm8x32AVX512(bytesOf(a))
	default:
		gemm8x48AVX512(bytesOf(a))
	}
}

// callGemm1 computes single rows of np = 1 or 4 panels.
func callGemm1(a *gemmArgs, np int) {
	switch {
	case !wide() && np == 1:
		gemm1x16AVX2(bytesOf(a))
	case !wide():
		gemm1x64AVX2(bytesOf(a))
	case np == 1:
		gemm1x16AVX512(bytesOf(a))
	default:
		gemm1x64AVX512(bytesOf(a))
	}
}

// gradRows returns the height of a full block of the weight-gradient kernels.
func gradRows() int {
	if wide() {
		return 8
	}
	return 4
}

// callGrad adds to full blocks of gradRows rows by np panels.
func callGrad(a *gradArgs, np int) {
	switch {
	case !wide():
		grad4x16AVX2(bytesOf(a))
	case np == 1:
		grad8x16AVX512(bytesOf(a))
	case np == 2:
		grad8x32AVX512(bytesOf(a))
	default:
		grad8x48AVX512(bytesOf(a))
	}
}

// callGrad1 adds to single rows of np panels.
func callGrad1(a *gradArgs, np int) {
	switch {
	case !wide():
		grad1x16AVX2(bytesOf(a))
	case np == 1:
		grad1x16AVX512(bytesOf(a))
	case np == 2:
		grad1x32AVX512(bytesOf(a))
	default:
		grad1x48AVX512(bytesOf(a))
	}
}

// callAffine runs affine, or affineRes where a has a residual; x in bf16 if half.
func callAffine(a *affineArgs, half bool) {
	switch {
	case half && a.res != nil:
		affineResHalfAVX512(bytesOf(a))
	case half:
		affineHalfAVX512(bytesOf(a))
	case wide() && a.res != nil:
		affineResAVX512(bytesOf(a))
	case wide():
		affineAVX512(bytesOf(a))
	case a.res != nil:
		affineResAVX2(bytesOf(a))
	default:
		affineAVX2(bytesOf(a))
	}
}

// callAffine2 runs affine2; x in bf16 if half.
func callAffine2(a *affineArgs, half bool) {
	switch {
	case half:
		affine2HalfAVX512(bytesOf(a))
	case wide():
		affine2AVX512(bytesOf(a))
	default:
		affine2AVX2(bytesOf(a))
	}
}

// sumPanels returns how many panels the wider column-sum kernels take.
func sumPanels() int {
	if wide() {
		return 4
	}
	return 2
}

// callSums sums np panels of columns, masked where a has a mask; v in bf16 if half.
func callSums(a *sumArgs, np int, half bool) {
	many, masked, p := np > 1, a.mask != nil, bytesOf(a)
	switch {
	case half && masked && many:
		sumProductMask64HalfAVX512(p)
	case half && masked:
		sumProductMask16HalfAVX512(p)
	case half && many:
		sumProduct64HalfAVX512(p)
	case half:
		sumProduct16HalfAVX512(p)
	case wide() && masked && many:
		sumProductMask64AVX512(p)
	case wide() && masked:
		sumProductMask16AVX512(p)
	case wide() && many:
		sumProduct64AVX512(p)
	case wide():
		sumProduct16AVX512(p)
	case masked && many:
		sumProductMask32AVX2(p)
	case masked:
		sumProductMask16AVX2(p)
	case many:
		sumProduct32AVX2(p)
	default:
		sumProduct16AVX2(p)
	}
}

// callFlat runs an element-wise operation.
func callFlat(op flatOp, a *flatArgs) {
	if wide() {
		flatAVX512(op, a)
	} else {
		flatAVX2(op, a)
	}
}

func flatAVX512(op flatOp, args *flatArgs) {
	p := bytesOf(args)
	switch op {
	case flatReLU:
		flatReLUAVX512(p)
	case flatReLUBackward:
		flatReLUBackwardAVX512(p)
	case flatAdd:
		flatAddAVX512(p)
	case flatAxpy:
		flatAxpyAVX512(p)
	case flatScale:
		flatScaleAVX512(p)
	}
}

func flatAVX2(op flatOp, args *flatArgs) {
	p := bytesOf(args)
	switch op {
	case flatReLU:
		flatReLUAVX2(p)
	case flatReLUBackward:
		flatReLUBackwardAVX2(p)
	case flatAdd:
		flatAddAVX2(p)
	case flatAxpy:
		flatAxpyAVX2(p)
	case flatScale:
		flatScaleAVX2(p)
	}
}

// callSGD runs a step of SGD with Nesterov momentum.
func callSGD(a *optArgs) {
	if wide() {
		sgdAVX512(bytesOf(a))
	} else {
		sgdAVX2(bytesOf(a))
	}
}

// callAdamW runs a step of AdamW.
func callAdamW(a *optArgs) {
	if wide() {
		adamwAVX512(bytesOf(a))
	} else {
		adamwAVX2(bytesOf(a))
	}
}
