// conv_<taps>_<tile>_<T>: see ConvArgs. conv.go picks the tile; all tiles add in the
// same order, so results do not depend on it.
#include "device.cuh"
#include "args.cuh"

#ifdef HALF
#include "conv_half.cuh"

typedef ConvTile<4, 1, 64, 4, 3> Wide;   // 256 rows x 64 outputs
typedef ConvTile<4, 1, 48, 4, 3> Slim;   // 256 x 48: 80, 96, 144 outputs
typedef ConvTile<1, 4, 16, 7, 6> Small;  // 64 x 64; few blocks: latency counts

#define CONV_HALF(TAPS, T) \
	KERNEL(conv_##TAPS##_wide_##T, ConvArgs, 128, 2) { conv_half<T, TAPS, Wide>(a); } \
	KERNEL(conv_##TAPS##_small_##T, ConvArgs, 128, 3) { conv_half<T, TAPS, Small>(a); }

KERNEL(conv_9_slim_bf16, ConvArgs, 128, 2) { conv_half<bf16, 9, Slim>(a); }
KERNEL(conv_9_slim_fp16, ConvArgs, 128, 2) { conv_half<fp16, 9, Slim>(a); }
CONV_HALF(9, bf16)
CONV_HALF(9, fp16)
CONV_HALF(1, bf16)
CONV_HALF(1, fp16)
#endif

#ifdef F32
#include "conv_float.cuh"

#define CONV_FLOAT(TAPS) \
	KERNEL(conv_##TAPS##_wide_f32, ConvArgs, 128, 3) { conv_float<TAPS, 2>(a); } \
	KERNEL(conv_##TAPS##_small_f32, ConvArgs, 64, 6) { conv_float<TAPS, 1>(a); }

CONV_FLOAT(9)
CONV_FLOAT(1)
#endif
