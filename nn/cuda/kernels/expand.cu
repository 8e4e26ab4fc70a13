// Input planes from bit masks: what encoding.ExpandPlanes says, channels last.
#include "boardrows.cuh"
#include "args.cuh"

enum { NUM_PLANES = 112, NUM_MASKS = 104, NUM_SCALARS = 6, PLANE_RULE50 = 109, PLANE_ONES = 111, EXPAND_LANES = 16 };

// constant_plane is the value that plane p >= NUM_MASKS has on all squares.
DEVICE float constant_plane(const uint8_t* scalars, int p) {
	if (p == PLANE_RULE50) return (float)scalars[PLANE_RULE50 - NUM_MASKS] / 99.f;
	if (p < PLANE_RULE50) return scalars[p - NUM_MASKS] ? 1.f : 0.f;
	return p == PLANE_ONES ? 1.f : 0.f;
}

DEVICE uint32_t bits_of(float x) { return __float_as_uint(x); }
DEVICE uint32_t bits_of(bf16 x) { return x.bits; }
DEVICE uint32_t bits_of(fp16 x) { return x.bits; }

// expand is the kernel: a block a board. A thread holds the masks of one access of
// 16 bytes (8 planes, 4 in fp32) and writes them on every EXPAND_LANES-th square: as
// words, by an index of whole accesses, as nvcc stores a Vec of such elements one by one.
template <class T> DEVICE void expand(const ExpandArgs& a) {
	constexpr int count = Vec<T>::count, groups = NUM_PLANES / count, each = count / 4;  // of a word
	int board = blockIdx.x, group = threadIdx.x % groups, p = group * count, lane = threadIdx.x / groups;
	const uint64_t* masks = a.masks + (int64_t)board * NUM_MASKS + p;
	bool constant = p >= NUM_MASKS;
	uint64_t mask[count];
	uint32_t always[4] = {}, one = bits_of(from_float<T>(1.f));
#pragma unroll
	for (int j = 0; j < count; j++) {
		mask[j] = constant ? 0 : masks[j];
		if (constant) always[j / each] |= bits_of(from_float<T>(constant_plane(a.scalars + board * NUM_SCALARS, p + j))) << j % each * 16;
	}
#pragma unroll
	for (int sq = lane; sq < 64; sq += EXPAND_LANES) {
		uint32_t v[4] = {always[0], always[1], always[2], always[3]};
#pragma unroll
		for (int j = 0; j < count; j++) v[j / each] |= (mask[j] >> sq & 1 ? one : 0) << j % each * 16;
		((uint4*)a.planes)[((int64_t)board * 64 + sq) * groups + group] = make_uint4(v[0], v[1], v[2], v[3]);
	}
}

#ifdef F32
KERNEL(expand_f32, ExpandArgs, 448, 2) { expand<float>(a); }
#endif
#ifdef HALF
KERNEL(expand_bf16, ExpandArgs, 224, 4) { expand<bf16>(a); }
KERNEL(expand_fp16, ExpandArgs, 224, 4) { expand<fp16>(a); }
#endif
