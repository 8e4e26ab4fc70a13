package kernel

// Every arm64 CPU that Go runs on has Advanced SIMD (NEON).
const (
	slowestVector = NEON
	bestTier      = NEON
)

// hasArmBF16 says whether this CPU and operating system have FEAT_BF16: bf16 products and
// conversions of Advanced SIMD.
var hasArmBF16 = readArmBF16()

// multipliesBF16 says whether a tier has bf16 products on this CPU.
func multipliesBF16(t Tier) bool { return t == NEON && hasArmBF16 }

// Limits on the work of one assembly call, which cannot be preempted: some
// 0.1 ms at 16 GFLOP/s, which small cores reach, and 16 Ki floats of an
// element-wise pass.
const (
	maxCallMACs   = 1 << 20
	maxCallFloats = 16 << 10
)

var tables = [...]*assembly{Generic: {}, NEON: &neon}

// neon has the transforms, a quad of channels at a time. It multiplies points of fp32 with
// the kernels of MatMul, and those of bf16 by BFMMLA.
var neon = assembly{
	maxPanels: 1, gradRows: 4, sumPanels: 2, lanes: 4, pointPanels: 1, oneBoard: true, wordRun: 2,
	gemm8:   [5]asm{1: gemm8x16NEON},
	gemm4:   gemm4x16NEON,
	gemm1:   [5]asm{1: gemm1x16NEON, 4: gemm1x64NEON},
	grad:    [2][4]asm{{1: grad4x16NEON}},
	grad1:   [4]asm{1: grad1x16NEON},
	affine:  [2][2]asm{{affineNEON, affineResNEON}, {affineHalfNEON, affineResHalfNEON}},
	affine2: [2]asm{affine2NEON, affine2HalfNEON},
	sums: [2][2][2]asm{
		{{sumProduct16NEON, sumProduct32NEON}, {sumProductMask16NEON, sumProductMask32NEON}},
		{{sumProduct16HalfNEON, sumProduct32HalfNEON}, {sumProductMask16HalfNEON, sumProductMask32HalfNEON}},
	},
	flat: [numFlatOps]asm{
		flatReLU: flatReLUNEON, flatReLUBackward: flatReLUBackwardNEON, flatAdd: flatAddNEON,
		flatAxpy: flatAxpyNEON, flatScale: flatScaleNEON,
		mathMish: mishNEON, mathMishBackward: mishBackwardNEON, mathSwish: swishNEON, mathSwishBackward: swishBackwardNEON,
		mathSigmoid: sigmoidNEON, mathSigmoidBackward: sigmoidBackwardNEON, mathTanh: tanhNEON, mathTanhBackward: tanhBackwardNEON,
	},
	sgd: sgdNEON, adamw: adamwNEON, nadamw: nadamwNEON,
	softmax: softmaxNEON, softmaxRows: [2]asm{softmaxRowsNEON, softmaxRowsBackwardNEON},
	layerNorm:  [2][2]asm{{layerNormNEON, layerNormSkipNEON}, {layerNormBackwardNEON, layerNormBackwardSkipNEON}},
	toHalf:     flatHalfNEON,
	widen:      flatWidenNEON,
	policyDots: [2]asm{1: policyDotsBF16NEON},
	points:     [2][3]asm{1: {1: point8x16BF16NEON}},
	pointGrad:  [2][3]asm{1: {1: pointGrad4x16BF16NEON}},
	gradSet:    gradSet4x16NEON,
	rows:       [2][numRowsOps]asm{{rowsSum: rowsSumNEON, rowsAdd: rowsAddNEON, rowsDot: rowsDotNEON}},
	weights:    [2]asm{winogradWeightsNEON, winogradWeightsHalfNEON},
	input:      [2]asm{winogradInputNEON, winogradInputHalfNEON},
	output:     [2][2]asm{{winogradOutputNEON, winogradOutputSumsNEON}, {1: winogradOutputSumsHalfNEON}},
	gradInput:  [2]asm{winogradInputNEON, winogradInputHalfTilesNEON},
	gradOutput: [2]asm{winogradOutputGradNEON, winogradOutputGradHalfTilesNEON},
	weightGrad: winogradWeightGradNEON,
	peak:       [2]peakKernel{{peakNEON, 5000, 24 * 2 * 4}, {peakBF16NEON, 5000, 24 * 2 * 16}},
}
