package kernel

import "golang.org/x/sys/cpu"

const slowestVector = AVX2

// bestTier is the fastest tier of this CPU; x/sys/cpu also checks that the
// operating system saves the registers.
var bestTier = func() Tier {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ && x.HasFMA:
		if hasAMX() {
			return AMX
		}
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Generic
}()

// multipliesBF16 says whether a tier has bf16 products on this CPU.
func multipliesBF16(t Tier) bool { return t >= AVX512 && cpu.X86.HasAVX512BF16 }

// hasArmBF16 is FEAT_BF16 of arm64.
const hasArmBF16 = false

// Limits on the work of one assembly call, which cannot be preempted: some
// 0.1 ms at 100 GFLOP/s, and 64 Ki floats of an element-wise pass.
const (
	maxCallMACs   = 4 << 20
	maxCallFloats = 64 << 10
)

var tables = [...]*assembly{Generic: {}, AVX2: &avx2, AVX512: &avx512, AMX: &amx}

var avx2 = assembly{
	maxPanels: 1, gradRows: 4, sumPanels: 2, lanes: 8, pointPanels: 1,
	gemm4:   gemm4x16AVX2,
	gemm1:   [5]asm{1: gemm1x16AVX2, 4: gemm1x64AVX2},
	grad:    [2][4]asm{{1: grad4x16AVX2}},
	grad1:   [4]asm{1: grad1x16AVX2},
	affine:  [2][2]asm{{affineAVX2, affineResAVX2}},
	affine2: [2]asm{affine2AVX2},
	sums:    [2][2][2]asm{{{sumProduct16AVX2, sumProduct32AVX2}, {sumProductMask16AVX2, sumProductMask32AVX2}}},
	flat: [numFlatOps]asm{
		flatReLU: flatReLUAVX2, flatReLUBackward: flatReLUBackwardAVX2, flatAdd: flatAddAVX2,
		flatAxpy: flatAxpyAVX2, flatScale: flatScaleAVX2,
		flatSquare: flatSquareAVX2, flatSquareBackward: flatSquareBackwardAVX2,
		mathMish: mishAVX2, mathMishBackward: mishBackwardAVX2, mathSwish: swishAVX2, mathSwishBackward: swishBackwardAVX2,
		mathSigmoid: sigmoidAVX2, mathSigmoidBackward: sigmoidBackwardAVX2, mathTanh: tanhAVX2, mathTanhBackward: tanhBackwardAVX2,
	},
	sgd: sgdAVX2, adamw: adamwAVX2, nadamw: nadamwAVX2, sumSquares: sumSquaresAVX2,
	softmax: softmaxAVX2, softmaxRows: [2]asm{softmaxRowsAVX2, softmaxRowsBackwardAVX2},
	layerNorm: [2][2]asm{{layerNormAVX2, layerNormSkipAVX2}, {layerNormBackwardAVX2, layerNormBackwardSkipAVX2}},
	expand:    expandAVX2, transpose: transpose16AVX2,
	policyDots: [2]asm{policyDotsAVX2},
	rows:       [2][numRowsOps]asm{{rowsSum: rowsSumAVX2, rowsAdd: rowsAddAVX2, rowsDot: rowsDotAVX2}},
	points:     [2][3]asm{{1: point4x16AVX2}},
	pointGrad:  [2][3]asm{{1: pointGrad4x16AVX2}},
	weights:    [2]asm{winogradWeightsAVX2},
	input:      [2]asm{winogradInputAVX2},
	output:     [2][2]asm{{winogradOutputAVX2, winogradOutputSumsAVX2}},
	gradInput:  [2]asm{winogradInputAVX2},
	gradOutput: [2]asm{winogradOutputGradAVX2},
	weightGrad: winogradWeightGradAVX2,
	peak:       [2]peakKernel{{peakAVX2, 10000, 12 * 2 * 8}},
}

var avx512 = assembly{
	maxPanels: 3, gradRows: 8, sumPanels: 4, lanes: 16, pointPanels: 2,
	gemm8: [5]asm{1: gemm8x16AVX512, gemm8x32AVX512, gemm8x48AVX512},
	gemm1: [5]asm{1: gemm1x16AVX512, 4: gemm1x64AVX512},
	grad: [2][4]asm{
		{1: grad8x16AVX512, grad8x32AVX512, grad8x48AVX512},
		{1: grad8x16BF16AVX512, grad8x32BF16AVX512, grad8x48BF16AVX512},
	},
	grad1:   [4]asm{1: grad1x16AVX512, grad1x32AVX512, grad1x48AVX512},
	affine:  [2][2]asm{{affineAVX512, affineResAVX512}, {affineHalfAVX512, affineResHalfAVX512}},
	affine2: [2]asm{affine2AVX512, affine2HalfAVX512},
	sums: [2][2][2]asm{
		{{sumProduct16AVX512, sumProduct64AVX512}, {sumProductMask16AVX512, sumProductMask64AVX512}},
		{{sumProduct16HalfAVX512, sumProduct64HalfAVX512}, {sumProductMask16HalfAVX512, sumProductMask64HalfAVX512}},
	},
	flat: [numFlatOps]asm{
		flatReLU: flatReLUAVX512, flatReLUBackward: flatReLUBackwardAVX512, flatAdd: flatAddAVX512,
		flatAxpy: flatAxpyAVX512, flatScale: flatScaleAVX512,
		flatSquare: flatSquareAVX512, flatSquareBackward: flatSquareBackwardAVX512,
		mathMish: mishAVX512, mathMishBackward: mishBackwardAVX512, mathSwish: swishAVX512, mathSwishBackward: swishBackwardAVX512,
		mathSigmoid: sigmoidAVX512, mathSigmoidBackward: sigmoidBackwardAVX512, mathTanh: tanhAVX512, mathTanhBackward: tanhBackwardAVX512,
	},
	sgd: sgdAVX512, adamw: adamwAVX512, nadamw: nadamwAVX512, sumSquares: sumSquaresAVX512,
	softmax: softmaxAVX512, softmaxRows: [2]asm{softmaxRowsAVX512, softmaxRowsBackwardAVX512},
	layerNorm: [2][2]asm{{layerNormAVX512, layerNormSkipAVX512}, {layerNormBackwardAVX512, layerNormBackwardSkipAVX512}},
	expand:    expandAVX512, transpose: transpose16AVX512, toHalf: flatHalfAVX512, widen: flatWidenAVX512,
	policyDots: [2]asm{policyDotsAVX512, policyDotsBF16AVX512},
	rows:       [2][numRowsOps]asm{{rowsSum: rowsSumAVX512, rowsAdd: rowsAddAVX512, rowsDot: rowsDotAVX512}, {rowsSum: rowsSumHalfAVX512, rowsDot: rowsDotHalfAVX512}},
	points:     [2][3]asm{{1: point8x16AVX512, point8x32AVX512}, {1: point8x16BF16AVX512, point8x32BF16AVX512}},
	pointGrad:  [2][3]asm{{1: pointGrad8x16AVX512, pointGrad8x32AVX512}, {1: pointGrad8x16BF16AVX512, pointGrad8x32BF16AVX512}},
	weights:    [2]asm{winogradWeightsAVX512, winogradWeightsHalfAVX512},
	input:      [2]asm{winogradInputAVX512, winogradInputHalfAVX512},
	output:     [2][2]asm{{winogradOutputAVX512, winogradOutputSumsAVX512}, {1: winogradOutputSumsHalfAVX512}},
	gradInput:  [2]asm{winogradInputAVX512, winogradInputHalfPairsAVX512},
	gradOutput: [2]asm{winogradOutputGradAVX512, winogradOutputGradHalfPairsAVX512},
	weightGrad: winogradWeightGradAVX512,
	rowWords:   rowWordsHalfAVX512,
	peak:       [2]peakKernel{{peakAVX512, 10000, 12 * 2 * 16}, {peakBF16AVX512, 5000, 24 * 2 * 32}},
}

// amx is avx512 with products of bf16 in tiles, which are functions that use the tables:
// so it is set by init.
var amx assembly

func init() {
	amx = avx512
	amx.grad[BF16] = [4]asm{} // see MatMulWeightGradHasBF16
	amx.pointTiles, amx.peakTiles = pointAMX, peakTiles
	amx.conv3 = [2][2]asm{{conv3OneAMX, conv3PairAMX}, {conv3OneHalfAMX, conv3PairHalfAMX}}
	amx.pad, amx.join = [2]asm{padOneHalfAVX512, padPairHalfAVX512}, [2]asm{joinOneHalfAVX512, joinPairHalfAVX512}
	amx.tapGrad = tapGradAMX
}
