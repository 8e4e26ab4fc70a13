// The weight gradient in fp32 without tensor cores, for every device: a thread adds
// up 4 outputs x 4 inputs of all taps, 10 loads of 16 bytes for 144 multiply-adds.
#pragma once
#include "wgrad_tile.cuh"

// wgrad_float_load copies 64 rows (those past present are 0) into shared memory.
template <int TAPS, int TILE, bool ACT, int THREADS>
DEVICE void wgrad_float_load(const WgradArgs& a, float* zs, float* xs, const float* coef, int64_t row, int present, int o0, int i0) {
	const float *dz = (const float*)a.dz, *x = (const float*)a.x;
#pragma unroll 4
	for (int c = threadIdx.x; c < 64 * TILE / 4; c += THREADS) {
		int r = c / (TILE / 4), col = c % (TILE / 4) * 4;
		Vec<float> z = zero_vec<float>(), v = zero_vec<float>();
		if (r < present && o0 + col < a.co) z = load_vec(dz + (row + r) * a.co + o0 + col);
		if (r < present && i0 + col < a.ci) {
			v = load_vec(x + (row + r) * a.ci + i0 + col);
			if (ACT) {
				float scale[4], shift[4];
				load_mixed(scale, coef, col);
				load_mixed(shift, coef + TILE, col);
				for (int j = 0; j < 4; j++) v.v[j] = activate(v.v[j] * scale[j] + shift[j], a.in_act);
			}
		}
		store_vec(zs + r * TILE + col, z);
		store_vec(xs + wgrad_slot<TAPS>(r) * TILE + col, v);
	}
}

// wgrad_float is the kernel for TILE x TILE weights of each tap; its grid is
// wgrad_half's. One board at a time: 64 rows of dz and the padded board of x.
template <int TAPS, int TILE, bool ACT> DEVICE void wgrad_float(const WgradArgs& a) {
	constexpr int side = TILE / 4, threads = side * side, width = TAPS == 9 ? 3 : 1;
	float* zs = (float*)shared_memory();
	float* xs = zs + 64 * TILE;
	float* coef = xs + WgradRows<TAPS>::x_rows * TILE;
	int o0 = blockIdx.y * TILE, i0 = blockIdx.x * TILE, o = threadIdx.x / side * 4, i = threadIdx.x % side * 4;
	WgradRows<TAPS> rows(a);
	if (ACT) wgrad_coefficients<TILE>(a, coef, i0, threads);
	if (TAPS == 9) wgrad_clear_border<TILE, threads>(xs);
	float acc[TAPS][4][4] = {};
	for (int u = 0; u < rows.stages; u++) {
		sync_threads();
		wgrad_float_load<TAPS, TILE, ACT, threads>(a, zs, xs, coef, rows.first + (int64_t)u * 64, rows.present(u), o0, i0);
		sync_threads();
#pragma unroll(TAPS == 9 ? 1 : 4)
		for (int r = 0; r < 64; r++) {
			Vec<float> z = load_vec(zs + r * TILE + o);
			const float* at = xs + (TAPS == 9 ? r / 8 * 9 + r % 8 : r) * TILE + i;
#pragma unroll
			for (int tap = 0; tap < TAPS; tap++) {
				Vec<float> x = load_vec(at + (tap / width * 9 + tap % width) * TILE);
#pragma unroll
				for (int p = 0; p < 16; p++) acc[tap][p / 4][p % 4] += z.v[p / 4] * x.v[p % 4];
			}
		}
	}
	if (i0 + i >= a.ci) return;
#pragma unroll
	for (int tap = 0; tap < TAPS; tap++) {
		float* part = a.part + (((int64_t)blockIdx.z * TAPS + tap) * a.co + o0 + o) * a.ci + i0 + i;
#pragma unroll
		for (int p = 0; p < 4; p++)
			if (o0 + o + p < a.co) *(float4*)(part + (int64_t)p * a.ci) = make_float4(acc[tap][p][0], acc[tap][p][1], acc[tap][p][2], acc[tap][p][3]);
	}
}
