// Adding up the parts of a weight gradient. A block makes all taps of some inputs of
// one output: that is one stretch of the gradient and, by part, a few of 64 bytes.
#pragma once
#include "device.cuh"
#include "args.cuh"

enum { REDUCE_THREADS = 256 };

// ReducePlace says what a block has: lanes of 4 weights each, lane l at from(l) in a
// part and at 4*l in shared memory.
struct ReducePlace {
	int lanes, first;  // first: of the block's inputs, or channels where the input was flattened
	DEVICE ReducePlace(const WgradReduceArgs& a) {
		lanes = a.channels ? 128 : a.taps == 9 ? 36 : 16;
		first = blockIdx.x * (a.channels ? 8 : a.taps == 9 ? 16 : 64);
	}
	// from is the index in a part, or -1 past the inputs.
	DEVICE int64_t from(const WgradReduceArgs& a, int l) const {
		int tap = a.taps == 9 ? l / 4 : 0;
		int i = a.channels ? l / 2 * a.channels + first + l % 2 * 4 : first + (l - tap * 4) * 4;
		return i < a.ci ? ((int64_t)tap * a.co + blockIdx.y) * a.ci + i : -1;
	}
	// to is the index in the gradient of the block's e-th weight in the gradient's
	// order, or -1 where that is padding; at is where it lies in shared memory.
	DEVICE int64_t to(const WgradReduceArgs& a, int e, int* at) const {
		int group = a.channels ? 64 : a.taps;  // weights of an input (or a channel) lie together
		int i = e / group, j = e % group, real = a.channels ? a.real_channels : a.real_ci;
		*at = a.channels ? j * 8 + i : j * 16 + i;
		if (first + i >= real) return -1;
		return (int64_t)blockIdx.y * real * group + (a.by_square ? j * real + first + i : (first + i) * group + j);
	}
};

// scattered is where float i of the groups' sums lies: in fours that change places, so
// that lanes which read a tap each, 16 floats apart, do so from different banks.
DEVICE int scattered(int i) { return i ^ (i >> 3 & 12); }

// reduce_parts is the kernel. Groups of lanes each add up a run of the parts; then
// the groups' sums are added, both in order.
DEVICE void reduce_parts(const WgradReduceArgs& a) {
	ReducePlace place(a);
	int groups = REDUCE_THREADS / place.lanes, group = threadIdx.x / place.lanes, lane = threadIdx.x % place.lanes;
	float* sums = (float*)shared_memory();  // [groups][lanes][4], scattered
	if (group < groups) {
		int64_t size = (int64_t)a.taps * a.co * a.ci, from = place.from(a, lane);
		int begin = group * a.splits / groups, end = (group + 1) * a.splits / groups;
		float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
		if (from < 0) end = begin;
#pragma unroll 8
		for (int s = begin; s < end; s++) {
			float4 p = *(const float4*)(a.part + s * size + from);
			sum.x += p.x, sum.y += p.y, sum.z += p.z, sum.w += p.w;
		}
		*(float4*)(sums + scattered((group * place.lanes + lane) * 4)) = sum;
	}
	sync_threads();
	for (int e = threadIdx.x; e < place.lanes * 4; e += REDUCE_THREADS) {
		int at;
		int64_t to = place.to(a, e, &at);
		if (to < 0) continue;
		float sum = a.accumulate ? a.grad[to] : 0.f;
		for (int g = 0; g < groups; g++) sum += sums[scattered(g * place.lanes * 4 + at)];
		a.grad[to] = sum;
	}
}
