// What a tensor-core convolution does with its sums: a warp works on its 64 rows x
// WARP_N outputs without the others. Sums go through shared memory, 32 rows at a
// time, from mma's fragments to lanes that have 8 neighbouring outputs of a row: so
// global memory sees whole lines.
#pragma once

#include "conv_tile.cuh"

// Accumulators of a warp: [16 rows][8 outputs] fragments.
template <int WARP_N> struct Sums {
	float v[4][WARP_N / 8][4];
};

// Patch is a warp's part of shared memory: 32 rows of sums, then what each lane asked
// for of its 8 rows of add and of z. A line of sums has 8 lanes' first four outputs,
// then, 36 floats on, their last four: no two lanes of an access use one bank.
enum { PATCH_LINE = 72, PATCH_SUMS = 32 * PATCH_LINE * 4, PATCH_ADD = PATCH_SUMS, PATCH_Z = PATCH_ADD + 8 * WARP * 16, PATCH_BYTES = PATCH_Z + 8 * WARP * 16 };

// Outputs is a lane's part of a warp's results: 8 outputs of every fourth row.
struct Outputs {
	int row, out;  // first row and output of the lane
	float bias[8], z_scale[8], z_shift[8], total[2][8];
};

// get_eight reads eight outputs' numbers; where there are none each is `other`.
DEVICE void get_eight(float (&v)[8], const float* from, int out, float other) {
#pragma unroll
	for (int e = 0; e < 8; e++) v[e] = other;
	if (from) get_four(v, from + out), get_four(v + 4, from + out + 4);
}

// slopes returns the activation's slopes at x.
DEVICE void slopes(float (&s)[8], const float (&x)[8], int act) {
	if (act == ACT_MISH) {
#pragma unroll
		for (int e = 0; e < 8; e++) s[e] = activation_slope(x[e], ACT_MISH);
	} else {
#pragma unroll
		for (int e = 0; e < 8; e++) s[e] = act == ACT_RELU ? activation_slope(x[e], ACT_RELU) : 1.f;
	}
}

// finish_row takes 8 outputs of a row from sums to results.
template <class T> DEVICE void finish_row(Outputs& l, const ConvArgs& a, const float* patch, int row, const uint4* asked) {
	float v[8], x[8];
	get_four(v, patch);
	get_four(v + 4, patch + PATCH_LINE / 2);
#pragma unroll
	for (int e = 0; e < 8; e++) v[e] += l.bias[e];
	if (a.add) {
		unpack<T>(x, asked[0]);
#pragma unroll
		for (int e = 0; e < 8; e++) v[e] += x[e];
	}
	if (a.z) {
		float at[8], s[8];
		unpack<T>(x, asked[8 * WARP]);
#pragma unroll
		for (int e = 0; e < 8; e++) at[e] = x[e] * l.z_scale[e] + l.z_shift[e];
		slopes(s, at, a.z_act);
#pragma unroll
		for (int e = 0; e < 8; e++) v[e] *= s[e];
	} else {
#pragma unroll
		for (int e = 0; e < 8; e++) x[e] = v[e];
	}
	if (a.sums) {
#pragma unroll
		for (int e = 0; e < 8; e++) {
			l.total[0][e] += v[e];
			l.total[1][e] += v[e] * x[e];
		}
	}
	size_t to = (size_t)row * a.co + l.out;
	if (a.y) *(uint4*)((T*)a.y + to) = pack_eight<T>(v);
	if (a.y32) {
		put_four(a.y32 + to, v);
		put_four(a.y32 + to + 4, v + 4);
	}
}

// ask starts copies of the lane's outputs of 32 rows of src; the lane alone reads them.
template <class T> DEVICE void ask(const Outputs& l, const ConvArgs& a, char* to, const void* src, int first) {
#pragma unroll
	for (int n = 0; n < 8; n++) {
		int row = l.row + first + n * 4;
		bool valid = row < a.rows;
		copy_async16(to + (n * WARP + threadIdx.x % WARP) * 16, valid ? (const T*)src + (size_t)row * a.co + l.out : (const T*)src, valid);
	}
}

// put_fragments stores two of the row fragments at this lane's place of the patch.
template <int WARP_N, int FROM> DEVICE void put_fragments(float2* put, const Sums<WARP_N>& sums) {
#pragma unroll
	for (int n = 0; n < 4; n++)
#pragma unroll
		for (int j = 0; j < WARP_N / 8; j++) {
			const float(&f)[4] = sums.v[FROM + n / 2][j];
			put[n * 4 * PATCH_LINE + j * 2] = make_float2(f[n % 2 * 2], f[n % 2 * 2 + 1]);
		}
}

// conv_epilogue finishes a warp's sums: its first row and output are row and out.
// Sums by board: lane/8 takes every fourth row, in order, then the four are added in pairs.
template <class T, int WARP_N> DEVICE void conv_epilogue(const Sums<WARP_N>& sums, const ConvArgs& a, char* patch, int row, int out) {
	if (row >= a.rows || out >= a.co) return;
	int lane = threadIdx.x % WARP, group = lane % 8;
	bool mine = group < WARP_N / 8 && out + group * 8 < a.co;
	Outputs l = {row + lane / 8, out + group * 8};
	get_eight(l.bias, mine ? a.bias : 0, l.out, 0.f);
	get_eight(l.z_scale, mine && a.z ? a.z_scale : 0, l.out, 1.f);
	get_eight(l.z_shift, mine && a.z ? a.z_shift : 0, l.out, 0.f);
#pragma unroll
	for (int e = 0; e < 8; e++) l.total[0][e] = l.total[1][e] = 0.f;
	float2* put = (float2*)patch + lane / 4 * (PATCH_LINE / 2) + lane % 4 / 2 * (PATCH_LINE / 4) + lane % 2;
	const float* get = (const float*)patch + lane / 8 * PATCH_LINE + group * 4;
	const uint4* asked = (const uint4*)(patch + PATCH_ADD) + lane;
#pragma unroll 1
	for (int half = 0; half < 2; half++) {
		sync_warp();
		if (mine && a.add) ask<T>(l, a, patch + PATCH_ADD, a.add, half * 32);
		if (mine && a.z) ask<T>(l, a, patch + PATCH_Z, a.z, half * 32);
		commit_async();
		if (half == 0) put_fragments<WARP_N, 0>(put, sums);
		if (half == 1) put_fragments<WARP_N, 2>(put, sums);
		wait_async<0>();
		sync_warp();
#pragma unroll 1
		for (int n = 0; n < 8; n++) {
			int r = l.row + half * 32 + n * 4;
			if (mine && r < a.rows) finish_row<T>(l, a, get + n * 4 * PATCH_LINE, r, asked + n * WARP);
		}
	}
	if (!a.sums) return;
#pragma unroll
	for (int k = 0; k < 2; k++)
#pragma unroll
		for (int e = 0; e < 8; e++) {
			l.total[k][e] += shuffle_xor(l.total[k][e], 8);
			l.total[k][e] += shuffle_xor(l.total[k][e], 16);
		}
	if (!mine || lane >= 8) return;
#pragma unroll
	for (int k = 0; k < 2; k++) {
		float* to = a.sums + ((size_t)(row / 64) * 2 + k) * a.co + l.out;
		put_four(to, l.total[k]);
		put_four(to + 4, l.total[k] + 4);
	}
}
