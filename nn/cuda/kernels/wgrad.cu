// Gradients of convolution and fully connected weights: wgrad_<taps>_<T> makes
// parts by splits of the rows, wgrad_reduce adds them up. The kernels are instances
// of wgrad_half and wgrad_float; narrow ones have small tiles for few channels.
#ifdef HALF
#include "wgrad_half.cuh"
#endif
#ifdef F32
#include "wgrad_float.cuh"
#include "wgrad_reduce.cuh"
#endif

#ifdef HALF
typedef WgradTile<9, 2, 1, 2, 4> WgradWide;     // 64x64, 144 sums a thread
typedef WgradTile<9, 2, 1, 1, 2> WgradNarrow;   // 32x32
typedef WgradTile<1, 2, 2, 2, 4> WgradProduct;  // 64x128
#define WGRAD_HALF(T)                                                                                          \
	KERNEL(wgrad_9_##T, WgradArgs, WgradWide::threads, 1) { wgrad_half<T, WgradWide, false>(a); }                \
	KERNEL(wgrad_9_act_##T, WgradArgs, WgradWide::threads, 1) { wgrad_half<T, WgradWide, true>(a); }             \
	KERNEL(wgrad_9_narrow_##T, WgradArgs, WgradNarrow::threads, 4) { wgrad_half<T, WgradNarrow, false>(a); }     \
	KERNEL(wgrad_9_narrow_act_##T, WgradArgs, WgradNarrow::threads, 4) { wgrad_half<T, WgradNarrow, true>(a); }  \
	KERNEL(wgrad_1_##T, WgradArgs, WgradProduct::threads, 2) { wgrad_half<T, WgradProduct, false>(a); }          \
	KERNEL(wgrad_1_act_##T, WgradArgs, WgradProduct::threads, 2) { wgrad_half<T, WgradProduct, true>(a); }
WGRAD_HALF(bf16)
WGRAD_HALF(fp16)
#endif

#ifdef F32
KERNEL(wgrad_9_f32, WgradArgs, 256, 1) { wgrad_float<9, 64, false>(a); }
KERNEL(wgrad_9_act_f32, WgradArgs, 256, 1) { wgrad_float<9, 64, true>(a); }
KERNEL(wgrad_9_narrow_f32, WgradArgs, 64, 4) { wgrad_float<9, 32, false>(a); }
KERNEL(wgrad_9_narrow_act_f32, WgradArgs, 64, 4) { wgrad_float<9, 32, true>(a); }
KERNEL(wgrad_1_f32, WgradArgs, 256, 2) { wgrad_float<1, 64, false>(a); }
KERNEL(wgrad_1_act_f32, WgradArgs, 256, 2) { wgrad_float<1, 64, true>(a); }
KERNEL(wgrad_reduce, WgradReduceArgs, REDUCE_THREADS, 4) { reduce_parts(a); }
#endif
