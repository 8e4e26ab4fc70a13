// Package kernel holds the arithmetic of the network on a CPU as plain
// functions over float32 slices: convolutions, matrix products, batch norm,
// layer norm, softmax of rows, squeeze-and-excitation, policy and value losses and
// optimizer updates, forward and backward.
//
// Activations are channels-last ("NHWC"): x [boards][64][C], that is boards*64
// rows of C channels, square a1 = 0. Any C is right; multiples of 16 are fast.
// Weights are packed once per version by the Pack functions. A packed convolution
// and a packed matrix of bf16 belong to the tier and the precision they were packed
// in, a packed matrix of fp32 to no tier.
//
// Tiers are generic Go (the oracle and the fallback), NEON on arm64, and on amd64
// AVX2+FMA, AVX-512, and AMX, which is AVX-512 with tile products in bf16. The
// best one is chosen at start; CHESSBRAIN_CPU_TIER or SetTier forces another. The
// Go drivers (*_vec.go) serve all architectures and reach a tier's assembly through
// its table (tables_*.go) over the argument structs of gen/args; gen writes the
// amd64 assembly, genarm64 the NEON one. Results of two tiers differ by
// rounding only. Within a tier a board of Conv3 and a row of MatMul, MatMulBF16, LayerNorm,
// SoftmaxRows, the gradients of these two and the element-wise functions are bit-identical
// whatever else shares the call.
//
// The precision BF16 rounds the factors of products to bfloat16; sums and
// everything else are fp32, but for what the functions on Stored numbers leave in
// memory in bf16. It needs AVX512_BF16 or Arm's FEAT_BF16 (HasBF16), without which Conv3
// and its gradients take it for FP32; they do so too for channels that are no
// multiple of 16. The vector tiers convolve by Winograd's F(4x4,3x3). Its
// transforms multiply the rounding: convolutions of random numbers have root mean
// square errors of some 1e-7 to 1e-6 of the result's in fp32, and of 1.2 to 1.5 %
// in bf16. AMX convolves bf16 directly, with a third of that error, and whole towers
// in pairs of boards (ConvPairs).
//
// Nothing that computes allocates, starts a goroutine or keeps a reference:
// scratch is passed in, with any contents, functions are reentrant, and callers
// split work over boards. Assembly entries set FTZ and DAZ in MXCSR, or FZ in FPCR
// (denormals would cost a factor of ten), and restore the register: assembly takes
// denormals for 0, while plain Go, which does odd sizes in every tier too, keeps
// them. Each entry runs well under 0.5 ms, because assembly cannot be preempted.
// Slices that are too short are a programmer's bug and panic. Outputs may not
// overlap inputs unless the function says so.
//
// Example, one convolution with bias and ReLU:
//
//	packed := make([]float32, kernel.PackedConv3Len(ci, co, kernel.FP32))
//	kernel.PackConv3(packed, w, ci, co, kernel.FP32) // w [co][ci][3][3]
//	scratch := make([]float32, kernel.Conv3ScratchLen(ci, co, kernel.FP32))
//	kernel.Conv3(y, x, packed, bias, boards, ci, co, kernel.ReLU, kernel.FP32, scratch)
package kernel

//go:generate go run ./gen
//go:generate go run ./genarm64
