// The inner parts of the fused tower: the ring of weight stages, and products of a
// warp's tile, one board by 32 outputs.
#pragma once
#include "device.cuh"

// Ring streams stages of weights from global memory (L2) through `depth` slots of
// shared memory, 2 or 3, ahead of the layers that use them and across their borders.
struct Ring {
	const char* next;  // the thread's 16 bytes of the stage to fetch
	int left;          // stages to fetch
	int bytes;         // of a stage
	int first, end;    // offsets in shared memory: of the first slot, and past the last
	int read, fill;    // the same, of slots
};

DEVICE void ring_fetch(Ring& r) {
	if (r.left > 0) {
		int step = blockDim.x * 16;
		const char* from = r.next;
		char* slot = shared_memory() + r.fill;
		for (int at = threadIdx.x * 16; at < r.bytes; at += step, from += step) copy_async16(slot + at, from, true);
		r.next += r.bytes;
		r.left--;
	}
	commit_async();  // also an empty group: the wait counts groups
	r.fill += r.bytes;
	if (r.fill == r.end) r.fill = r.first;
}

DEVICE void ring_start(Ring& r) {
	r.next += threadIdx.x * 16;
	r.read = r.fill = r.first;
	for (int at = r.first + r.bytes; at < r.end; at += r.bytes) ring_fetch(r);
}

// ring_next gives the next stage. It is a barrier of the block: what was written to
// shared memory before is seen after, and all have done with the stage before,
// whose slot is filled anew.
DEVICE const char* ring_next(Ring& r) {
	if (r.end - r.first > 2 * r.bytes) wait_async<1>();
	else wait_async<0>();
	sync_threads();
	const char* stage = shared_memory() + r.read;
	r.read += r.bytes;
	if (r.read == r.end) r.read = r.first;
	ring_fetch(r);
	return stage;
}

// Tile is a warp's sums: [16 squares][8 outputs][mma's d].
typedef float Tile[4][4][4];

DEVICE void clear(Tile& d) {
#pragma unroll
	for (int m = 0; m < 4; m++)
#pragma unroll
		for (int n = 0; n < 4; n++)
#pragma unroll
			for (int i = 0; i < 4; i++) d[m][n][i] = 0.f;
}

// Weights are a lane's words of 16 inputs by 32 outputs: b[0], b[1] of 8 outputs each.
struct Weights { uint32_t b[4][2]; };

DEVICE Weights load_weights(const char* lane) {
	uint4 v = *(const uint4*)lane, w = *(const uint4*)(lane + 512);
	return {{{v.x, v.y}, {v.z, v.w}, {w.x, w.y}, {w.z, w.w}}};
}

// multiply adds a product with 16 inputs for 16 squares.
template <class T> DEVICE void multiply(float (&d)[4][4], const uint32_t (&a)[4], const Weights& w) {
#pragma unroll
	for (int n = 0; n < 4; n++) mma<T>(d[n], a, w.b[n]);
}

// load_board reads 16 channels of a board: a[m] has ranks 2m and 2m+1. lane_row is
// the lane's row of the first pair (lane_offset).
DEVICE void load_board(uint32_t (&a)[4][4], const char* lane_row, int row_bytes) {
#pragma unroll
	for (int m = 0; m < 4; m++) load_matrix_x4(a[m], lane_row + m * 16 * row_bytes);
}

// lane_offset is where load_board's lane begins in a board: matrices 0 and 2 are
// the even rank's channels 0-7 and 8-15, 1 and 3 the odd rank's.
DEVICE int lane_offset(int row_bytes) {
	int lane = threadIdx.x % WARP, matrix = lane / 8;
	return (matrix % 2 * 8 + lane % 8) * row_bytes + matrix / 2 * 16;
}

// conv_stage adds one stage of a 3x3 convolution. The board is read once for three
// taps: ky shifts by whole ranks, which only regroups the fragments. rows is
// load_board's, already shifted by kx; a lane whose square that shift takes off the
// board says so by off. step is the bytes of a tap in the stage.
template <class T> DEVICE void conv_stage(Tile& d, const char* rows, int row_bytes, bool off, const char* w, int step) {
	uint32_t a[4][4];
	load_board(a, rows, row_bytes);
#pragma unroll
	for (int m = 0; m < 4; m++)
#pragma unroll
		for (int i = 0; i < 4; i++) a[m][i] = off ? 0 : a[m][i];
	Weights middle = load_weights(w + step);
#pragma unroll
	for (int m = 0; m < 4; m++) multiply<T>(d[m], a[m], middle);
	Weights below = load_weights(w), above = load_weights(w + 2 * step);
#pragma unroll
	for (int j = 0; j < 5; j++) {  // ranks 2j-1 and 2j, of which -1 and 8 are 0
		uint32_t odd[4] = {};
		if (j > 0) odd[0] = a[j > 0 ? j - 1 : 0][1], odd[2] = a[j > 0 ? j - 1 : 0][3];
		if (j < 4) odd[1] = a[j < 4 ? j : 3][0], odd[3] = a[j < 4 ? j : 3][2];
		if (j < 4) multiply<T>(d[j < 4 ? j : 3], odd, below);
		if (j > 0) multiply<T>(d[j > 0 ? j - 1 : 0], odd, above);
	}
}

// pack_pair makes a word of two elements, the first low.
template <class T> DEVICE uint32_t pack_pair(float x, float y) {
	return (uint32_t)from_float<T>(x).bits | (uint32_t)from_float<T>(y).bits << 16;
}
template <class T> DEVICE float pair_low(uint32_t w) {
	T v;
	v.bits = (uint16_t)w;
	return to_float(v);
}
template <class T> DEVICE float pair_high(uint32_t w) {
	T v;
	v.bits = (uint16_t)(w >> 16);
	return to_float(v);
}
