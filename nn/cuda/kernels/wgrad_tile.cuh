// What the weight gradient kernels of all types share: which rows a block has and
// how a board of x lies in shared memory.
#pragma once
#include "boardrows.cuh"
#include "args.cuh"

// wgrad_slot is where row r of 64 lies: with 9 taps, (rank+1)*9 + file+1, so that the
// square at rank+ky-1, file+kx-1 lies (ky-1)*9 + kx-1 on, and is 0 off the board.
template <int TAPS> DEVICE int wgrad_slot(int r) { return TAPS == 9 ? (r / 8 + 1) * 9 + r % 8 + 1 : r; }

// WgradRows is a split's rows, in stages of 64 (boards, where there are 9 taps).
template <int TAPS> struct WgradRows {
	static constexpr int x_rows = TAPS == 9 ? 91 : 64;  // of x in a stage, with the border
	int64_t first;
	int count, stages;
	DEVICE WgradRows(const WgradArgs& a) {
		int unit = TAPS == 9 ? 64 : 1, units = a.rows / unit;
		int64_t from = (int64_t)blockIdx.z * units / a.splits, to = ((int64_t)blockIdx.z + 1) * units / a.splits;
		first = from * unit;
		count = (int)(to - from) * unit;
		stages = (count + 63) / 64;
	}
	// present is how many rows stage u has; 0 or less past the last.
	DEVICE int present(int u) const { return imin(64, count - u * 64); }
};

// wgrad_coefficients puts the scales of a block's channels, then their shifts, into
// coef, in mixed order; they are 0 past ci. sync_threads must follow.
template <int INS> DEVICE void wgrad_coefficients(const WgradArgs& a, float* coef, int i0, int threads) {
	for (int c = threadIdx.x; c < INS; c += threads) {
		bool valid = i0 + c < a.ci;
		coef[mixed(c)] = !valid ? 0.f : a.in_scale ? a.in_scale[i0 + c] : 1.f;
		coef[INS + mixed(c)] = valid && a.in_shift ? a.in_shift[i0 + c] : 0.f;
	}
}

// wgrad_clear_border writes the zeros around a board of x, rows of STRIDE elements.
template <int STRIDE, int THREADS, class T> DEVICE void wgrad_clear_border(T* x) {
	for (int c = threadIdx.x; c < 91 * STRIDE / Vec<T>::count; c += THREADS) {
		int slot = c / (STRIDE / Vec<T>::count);
		if (slot < 9 || slot > 80 || slot % 9 == 0) store_vec(x + c * Vec<T>::count, zero_vec<T>());
	}
}
