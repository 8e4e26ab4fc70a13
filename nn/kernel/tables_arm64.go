package kernel

// Every arm64 CPU that Go runs on has Advanced SIMD (NEON).
const (
	slowestVector = NEON
	bestTier      = NEON
)

// Limits on the work of one assembly call, which cannot be preempted: some
// 0.1 ms at 16 GFLOP/s, which small cores reach, and 16 Ki floats of an
// element-wise pass.
const (
	maxCallMACs   = 1 << 20
	maxCallFloats = 16 << 10
)

var tables = [...]*assembly{Generic: {}, NEON: &neon}

// neon has the fp32 transforms, a quad of channels at a time, and multiplies points with
// the kernels of MatMul. It has no bf16.
var neon = assembly{
	maxPanels: 1, gradRows: 4, sumPanels: 2, lanes: 4, pointPanels: 1, oneBoard: true,
	gemm8:   [5]asm{1: gemm8x16NEON},
	gemm4:   gemm4x16NEON,
	gemm1:   [5]asm{1: gemm1x16NEON, 4: gemm1x64NEON},
	grad:    [4]asm{1: grad4x16NEON},
	grad1:   [4]asm{1: grad1x16NEON},
	affine:  [2][2]asm{{affineNEON, affineResNEON}},
	affine2: [2]asm{affine2NEON},
	sums:    [2][2][2]asm{{{sumProduct16NEON, sumProduct32NEON}, {sumProductMask16NEON, sumProductMask32NEON}}},
	flat: [numFlatOps]asm{
		flatReLU: flatReLUNEON, flatReLUBackward: flatReLUBackwardNEON, flatAdd: flatAddNEON,
		flatAxpy: flatAxpyNEON, flatScale: flatScaleNEON,
	},
	sgd: sgdNEON, adamw: adamwNEON, nadamw: nadamwNEON,
	layerNorm:  [2][2]asm{{layerNormNEON, layerNormSkipNEON}, {layerNormBackwardNEON, layerNormBackwardSkipNEON}},
	gradSet:    gradSet4x16NEON,
	rows:       [numRowsOps]asm{rowsSum: rowsSumNEON, rowsAdd: rowsAddNEON, rowsDot: rowsDotNEON},
	weights:    [2]asm{winogradWeightsNEON},
	input:      [2]asm{winogradInputNEON},
	output:     [2][2]asm{{winogradOutputNEON, winogradOutputSumsNEON}},
	gradInput:  [2]asm{winogradInputNEON},
	gradOutput: [2]asm{winogradOutputGradNEON},
	weightGrad: winogradWeightGradNEON,
	peak:       [2]peakKernel{{peakNEON, 5000, 24 * 2 * 4}},
}
