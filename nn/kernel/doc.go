// Package kernel holds the arithmetic of the network on a CPU as plain
// functions over float32 slices: convolutions, matrix products, batch norm,
// squeeze-and-excitation, policy and value losses and optimizer updates,
// forward and backward.
//
// Activations are channels-last ("NHWC"): x [boards][64][C], that is boards*64
// rows of C channels, square a1 = 0. Any C is right; multiples of 16 are fast.
// Weights are packed once per version by the Pack functions; a packed buffer is
// valid in every tier.
//
// Tiers are generic Go (the oracle and the fallback), NEON on arm64, AVX2+FMA
// and AVX-512 on amd64. The best one is chosen at start; CHESSBRAIN_CPU_TIER or
// SetTier forces another. The Go drivers (*_vec.go) serve both architectures
// and reach the assembly through the calls in dispatch_*.go over the argument
// structs of gen/args; gen writes the amd64 assembly, genarm64 the NEON one.
// Results of two tiers differ by rounding only. Within a tier a row of Conv3,
// MatMul and of every element-wise function is bit-identical whatever other
// rows share the call.
//
// Nothing here allocates, starts a goroutine or keeps a reference: scratch is
// passed in, functions are reentrant, and callers split work over boards.
// Assembly entries set FTZ and DAZ in MXCSR, or FZ in FPCR (denormals would cost
// a factor of ten), and restore the register, so vector tiers treat denormals as 0 and the
// generic tier keeps them; each runs well under 0.5 ms, because assembly cannot
// be preempted. Slices that are too short are a programmer's bug and
// panic. Outputs may not overlap inputs unless the function says so.
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
