// The weight gradient on tensor cores: dw[tap] = dz^T * shifted x, K = rows.
//
// Both operands lie by rows in memory, K outermost, so ldmatrix.trans makes the
// fragments. A stage of the ring is 64 rows: a whole board for 3x3. There a board
// of x lies in 10 ranks of 9 rows; the first and the last rank and the first row of
// each stay 0. A tap of kx = 0, 2 then reads the row beside it, on or off the
// board, and one of ky = 0, 2 uses the fragment of the rank beside it, which is in
// registers already. For 9 taps of 32x16 weights a warp loads 82 bytes an mma; shared
// memory gives 128 in the time of one on sm_80, 102 at mma.sync's rate on sm_90.
#pragma once
#include "wgrad_tile.cuh"

// WgradTile is what a block of WARPS_M x WARPS_N warps computes: outs x ins of each
// tap, 16*MT x 16*NT a warp. wgradTiles in wgrad.go mirrors it.
template <int TAPS, int MT, int NT, int WARPS_M, int WARPS_N> struct WgradTile {
	static constexpr int taps = TAPS, mt = MT, nt = NT, warps_n = WARPS_N;
	static constexpr int outs = 16 * MT * WARPS_M, ins = 16 * NT * WARPS_N, threads = 32 * WARPS_M * WARPS_N;
	static constexpr int stages = TAPS == 9 ? 4 : 3;
	static constexpr int z_stride = outs + 8, x_stride = ins + 8;  // 16 bytes more: ldmatrix without bank conflicts
	static constexpr int stage = 64 * z_stride + WgradRows<TAPS>::x_rows * x_stride;  // elements: dz, then x
	static constexpr int z_chunks = 8 * outs / threads, x_chunks = 8 * ins / threads;  // of 16 bytes, a thread
};

// wgrad_row is the row of chunk c of rows of CHUNKS. Where those are 4, 8 neighbours get
// two rows 4 apart: rows one apart would share banks.
template <int CHUNKS> DEVICE int wgrad_row(int c) { return CHUNKS == 4 ? c / 32 * 8 + c / 8 % 4 + c / 4 % 2 * 4 : c / CHUNKS; }

// wgrad_copy starts the copies of a block's part of 64 rows, those past present being 0.
template <class T, class Tile> DEVICE void wgrad_copy(const WgradArgs& a, T* stage, int64_t row, int present, int o0, int i0) {
	const T *dz = (const T*)a.dz, *x = (const T*)a.x;
#pragma unroll
	for (int q = 0; q < Tile::z_chunks; q++) {
		int c = q * Tile::threads + threadIdx.x, r = wgrad_row<Tile::outs / 8>(c), col = c % (Tile::outs / 8) * 8;
		bool valid = r < present && o0 + col < a.co;
		copy_async16(stage + r * Tile::z_stride + col, valid ? dz + (row + r) * a.co + o0 + col : dz, valid);
	}
	stage += 64 * Tile::z_stride;
#pragma unroll
	for (int q = 0; q < Tile::x_chunks; q++) {
		int c = q * Tile::threads + threadIdx.x, r = wgrad_row<Tile::ins / 8>(c), col = c % (Tile::ins / 8) * 8;
		bool valid = r < present && i0 + col < a.ci;
		copy_async16(stage + wgrad_slot<Tile::taps>(r) * Tile::x_stride + col, valid ? x + (row + r) * a.ci + i0 + col : x, valid);
	}
}

// wgrad_transform makes chunk q of x, which this thread has copied, in(x), by the
// coefficients of wgrad_coefficients.
template <class T, class Tile> DEVICE void wgrad_transform(const WgradArgs& a, T* stage, const float* coef, int q, int present) {
	int c = q * Tile::threads + threadIdx.x, r = wgrad_row<Tile::ins / 8>(c), col = c % (Tile::ins / 8) * 8;
	if (r >= present) return;
	T* at = stage + 64 * Tile::z_stride + wgrad_slot<Tile::taps>(r) * Tile::x_stride + col;
	Vec<T> v = load_vec(at);
	float scale[8], shift[8];
	load_mixed(scale, coef, col);
	load_mixed(shift, coef + Tile::ins, col);
#pragma unroll
	for (int j = 0; j < 8; j++) scale[j] = to_float(v.v[j]) * scale[j] + shift[j];
	if (a.in_act == ACT_RELU) {  // one branch for all: the elements' work overlaps
#pragma unroll
		for (int j = 0; j < 8; j++) scale[j] = activate(scale[j], ACT_RELU);
	} else if (a.in_act == ACT_MISH) {
#pragma unroll
		for (int j = 0; j < 8; j++) scale[j] = activate(scale[j], ACT_MISH);
	}
#pragma unroll
	for (int j = 0; j < 8; j++) v.v[j] = from_float<T>(scale[j]);
	store_vec(at, v);
}

// WgradLane is where a lane's rows of fragments begin in a stage, elements: of dz at
// row 0; of x at the first two ranks (at rows 0 to 15 for products).
template <class Tile> struct WgradLane {
	int z, x;
	DEVICE WgradLane() {
		int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane % 8, odd = lane / 8 % 2, high = lane / 16;
		int m = warp / Tile::warps_n * 16 * Tile::mt, n = warp % Tile::warps_n * 16 * Tile::nt;
		z = (high * 8 + row) * Tile::z_stride + m + odd * 8;
		x = 64 * Tile::z_stride + (odd * (Tile::taps == 9 ? 9 : 8) + row) * Tile::x_stride + n + high * 8;
	}
};

// wgrad_load_x loads the fragments of 16 rows of x, 8 a register: those of channels
// 8*n.. become w[n][0] and w[n][1].
template <class T, int NT, int DEPTH> DEVICE void wgrad_load_x(uint32_t (&w)[2 * NT][DEPTH], const T* at) {
#pragma unroll
	for (int n = 0; n < NT; n++) {
		uint32_t r[4];
		load_matrix_x4_trans(r, at + n * 16);
#pragma unroll
		for (int j = 0; j < 4; j++) w[2 * n + j / 2][DEPTH - 2 + j % 2] = r[j];
	}
}

// wgrad_step adds rows 16*k to 16*k+15 of a stage to all taps. For 3x3, w[kx][n] is
// the window of ranks 2k-1 to 2k+2, whose last two are loaded here.
template <class T, class Tile, int DEPTH>
DEVICE void wgrad_step(float (&acc)[Tile::taps][Tile::mt][2 * Tile::nt][4], uint32_t (&w)[Tile::taps == 9 ? 3 : 1][2 * Tile::nt][DEPTH], const T* stage,
                       const WgradLane<Tile>& at, int k) {
	constexpr int width = Tile::taps == 9 ? 3 : 1;
	uint32_t z[Tile::mt][4];
#pragma unroll
	for (int m = 0; m < Tile::mt; m++) load_matrix_x4_trans(z[m], stage + at.z + k * 16 * Tile::z_stride + m * 16);
#pragma unroll
	for (int kx = 0; kx < width; kx++) {
		wgrad_load_x<T, Tile::nt, DEPTH>(w[kx], stage + at.x + (width == 3 ? (2 * k + 2) * 9 + kx : 16 * k) * Tile::x_stride);
#pragma unroll
		for (int n = 0; n < 2 * Tile::nt; n++) {
#pragma unroll
			for (int ky = 0; ky < width; ky++) {
				uint32_t b[2] = {w[kx][n][ky], w[kx][n][ky + 1]};
#pragma unroll
				for (int m = 0; m < Tile::mt; m++) mma<T>(acc[ky * width + kx][m][n], z[m], b);
			}
			if (width == 3) w[kx][n][0] = w[kx][n][DEPTH - 2], w[kx][n][1] = w[kx][n][DEPTH - 1];
		}
	}
}

// wgrad_stage adds the 64 rows of a stage; meanwhile it transforms the next stage.
template <class T, class Tile, bool ACT>
DEVICE void wgrad_stage(const WgradArgs& a, float (&acc)[Tile::taps][Tile::mt][2 * Tile::nt][4], const T* stage, const WgradLane<Tile>& at, T* next, int present,
                        const float* coef) {
	constexpr int width = Tile::taps == 9 ? 3 : 1, depth = Tile::taps == 9 ? 4 : 2;
	uint32_t w[width][2 * Tile::nt][depth];
	if (width == 3) {
#pragma unroll
		for (int kx = 0; kx < width; kx++) {
			wgrad_load_x<T, Tile::nt, depth>(w[kx], stage + at.x + kx * Tile::x_stride);
#pragma unroll
			for (int n = 0; n < 2 * Tile::nt; n++) w[kx][n][0] = w[kx][n][depth - 2], w[kx][n][1] = w[kx][n][depth - 1];
		}
	}
#pragma unroll
	for (int k = 0; k < 4; k++) {
		wgrad_step<T, Tile, depth>(acc, w, stage, at, k);
#pragma unroll
		for (int q = 0; ACT && q < Tile::x_chunks; q++)
			if (q * 4 / Tile::x_chunks == k) wgrad_transform<T, Tile>(a, next, coef, q, present);
	}
}

// wgrad_store writes the block's part; a warp's rows are 32 bytes.
template <class Tile> DEVICE void wgrad_store(const WgradArgs& a, float (&acc)[Tile::taps][Tile::mt][2 * Tile::nt][4], int o0, int i0) {
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int o = o0 + warp / Tile::warps_n * 16 * Tile::mt + lane / 4, i = i0 + warp % Tile::warps_n * 16 * Tile::nt + lane % 4 * 2;
#pragma unroll
	for (int tap = 0; tap < Tile::taps; tap++) {
		float* part = a.part + ((int64_t)blockIdx.z * Tile::taps + tap) * a.co * a.ci + (int64_t)o * a.ci + i;
#pragma unroll
		for (int m = 0; m < Tile::mt; m++) {
#pragma unroll
			for (int n = 0; n < 2 * Tile::nt; n++) {
				if (o + m * 16 >= a.co || i + n * 8 >= a.ci) continue;  // co is a multiple of 16, ci of 8
				float* p = part + m * 16 * a.ci + n * 8;
				*(float2*)p = make_float2(acc[tap][m][n][0], acc[tap][m][n][1]);
				*(float2*)(p + 8 * a.ci) = make_float2(acc[tap][m][n][2], acc[tap][m][n][3]);
			}
		}
	}
}

// wgrad_half is the kernel: block (x, y, z) computes inputs x*ins.., outputs y*outs..
// of split z.
template <class T, class Tile, bool ACT> DEVICE void wgrad_half(const WgradArgs& a) {
	T* ring = (T*)shared_memory();
	float* coef = (float*)(ring + Tile::stages * Tile::stage);
	int o0 = blockIdx.y * Tile::outs, i0 = blockIdx.x * Tile::ins;
	WgradRows<Tile::taps> rows(a);
	auto stage_of = [&](int u) { return ring + u % Tile::stages * Tile::stage; };
	auto copy = [&](int u) {
		if (u < rows.stages) wgrad_copy<T, Tile>(a, stage_of(u), rows.first + (int64_t)u * 64, rows.present(u), o0, i0);
		commit_async();
	};
	if (ACT) wgrad_coefficients<Tile::ins>(a, coef, i0, Tile::threads);
	if (Tile::taps == 9)
#pragma unroll 1
		for (int s = 0; s < Tile::stages; s++) wgrad_clear_border<Tile::x_stride, Tile::threads>(stage_of(s) + 64 * Tile::z_stride);
#pragma unroll 1
	for (int u = 0; u < Tile::stages - 1; u++) copy(u);
	if (ACT) {
		wait_async<Tile::stages - 2>();
		sync_threads();  // for coef
#pragma unroll 1
		for (int q = 0; q < Tile::x_chunks; q++) wgrad_transform<T, Tile>(a, stage_of(0), coef, q, rows.present(0));
	}
	float acc[Tile::taps][Tile::mt][2 * Tile::nt][4] = {};
	WgradLane<Tile> at;
	for (int u = 0; u < rows.stages; u++) {
		wait_async<Tile::stages - (ACT ? 3 : 2)>();  // this stage, and the next where it is transformed
		sync_threads();
		copy(u + Tile::stages - 1);
		wgrad_stage<T, Tile, ACT>(a, acc, stage_of(u), at, stage_of(u + 1), rows.present(u + 1), coef);
	}
	wgrad_store<Tile>(a, acc, o0, i0);
}
