// Convolutions in fp32 without tensor cores, for every device from sm_60 on.
//
// A thread computes the 8 squares of a rank by 8 outputs. For 3x3 the input tile has
// a border of zeros and is read a rank (10 squares) at a time, which serves the three
// taps of a kernel row. A step is a (chunk of 8 channels, kernel row); products are
// added in the order chunk, row, channel, tap.
#pragma once

#include "conv_four.cuh"

template <int TAPS, int BOARDS> struct FloatShared {
	enum {
		THREADS = 64 * BOARDS,
		CHUNK = 8,
		OUTS = 64,
		BORDER = TAPS == 9,
		TAPS_X = TAPS == 9 ? 3 : 1,                       // taps of a step
		STEPS = TAPS / TAPS_X,                            // steps of a chunk
		LINE = TAPS == 9 ? 12 : 8,                        // floats of a rank
		BOARD = LINE * (8 + 2 * BORDER),                  // floats of a board
		INPUT = CHUNK * BOARDS * BOARD,                   // [channel][board][rank][file]
		WEIGHT = TAPS_X * CHUNK * OUTS,                   // [tap][channel][output]
		WEIGHTS = 2 * INPUT,                              // offset of the weights
		EXCHANGE = THREADS * 8 * 4,                       // floats that the epilogue's sums pass through
		LINES = (TAPS_X * OUTS + THREADS - 1) / THREADS,  // lines of weights a thread brings
	};
};

// Line is 8 channels of a row of the input or of an output's weights.
struct Line {
	float4 v[2];
};
DEVICE Line no_line() { return Line{{make_float4(0.f, 0.f, 0.f, 0.f), make_float4(0.f, 0.f, 0.f, 0.f)}}; }

// spread stores a line's 8 channels `stride` floats apart.
DEVICE void spread(float* to, int stride, const Line& l) {
	const float* v = &l.v[0].x;
#pragma unroll
	for (int e = 0; e < 8; e++) to[e * stride] = v[e];
}

// FloatConv is a thread's part of the product.
template <int TAPS, int BOARDS> struct FloatConv {
	typedef FloatShared<TAPS, BOARDS> S;
	const ConvArgs& a;
	int board, rank, column, row, out;  // column: of 8; row, out: first of the block
	float* shared;
	float v[8][8];  // [file][output]: 4*column+e, then 32+4*column+e

	// input reads this thread's line of a chunk, transformed.
	DEVICE Line input(int chunk) const {
		int r = row + threadIdx.x, i = chunk * S::CHUNK;
		if (r >= a.rows || i >= a.ci) return no_line();
		const float4* from = (const float4*)((const float*)a.x + (size_t)r * a.ci + i);
		Line l = {{from[0], from[1]}};
		if (a.in_scale || a.in_shift || a.in_act != ACT_NONE) {
			float* x = &l.v[0].x;
#pragma unroll
			for (int e = 0; e < 8; e++) x[e] = activate(x[e] * (a.in_scale ? a.in_scale[i + e] : 1.f) + (a.in_shift ? a.in_shift[i + e] : 0.f), a.in_act);
		}
		return l;
	}
	DEVICE void put_input(int chunk, const Line& l) const {
		int square = threadIdx.x % 64;
		float* to = shared + chunk % 2 * S::INPUT + threadIdx.x / 64 * S::BOARD + (square / 8 + S::BORDER) * S::LINE + square % 8 + S::BORDER;
		spread(to, BOARDS * S::BOARD, l);
	}

	// weights reads this thread's n-th line of the step: kernel row ky of a chunk.
	DEVICE Line weights(int chunk, int ky, int n) const {
		int q = threadIdx.x + n * S::THREADS, o = out + q % S::OUTS, i = chunk * S::CHUNK;
		if (q >= S::TAPS_X * S::OUTS || o >= a.co || i >= a.ci) return no_line();
		const float4* from = (const float4*)((const float*)a.w + ((size_t)(ky * S::TAPS_X + q / S::OUTS) * a.co + o) * a.ci + i);
		return Line{{from[0], from[1]}};
	}
	DEVICE void put_weights(int step, int n, const Line& l) const {
		int q = threadIdx.x + n * S::THREADS;
		if (q < S::TAPS_X * S::OUTS) spread(shared + S::WEIGHTS + step % 2 * S::WEIGHT + q / S::OUTS * (S::CHUNK * S::OUTS) + q % S::OUTS, S::OUTS, l);
	}

	// multiply adds the products of channels [from, from+4) of a step.
	DEVICE void multiply(int chunk, int ky, int step, int from) {
		const float* x = shared + chunk % 2 * S::INPUT + from * (BOARDS * S::BOARD) + board * S::BOARD + (rank + ky) * S::LINE;
		const float* w = shared + S::WEIGHTS + step % 2 * S::WEIGHT + from * S::OUTS + column * 4;
#pragma unroll 1
		for (int i = 0; i < S::CHUNK / 2; i++, x += BOARDS * S::BOARD, w += S::OUTS) {
			float in[S::LINE];
#pragma unroll
			for (int q = 0; q < S::LINE; q += 4) get_four(in + q, x + q);
#pragma unroll
			for (int kx = 0; kx < S::TAPS_X; kx++) {
				float k[8];
				get_four(k, w + kx * S::CHUNK * S::OUTS);
				get_four(k + 4, w + kx * S::CHUNK * S::OUTS + 32);
#pragma unroll
				for (int f = 0; f < 8; f++)
#pragma unroll
					for (int o = 0; o < 8; o++) v[f][o] += in[f + kx] * k[o];
			}
		}
	}

	// products runs the main loop; what the next step needs is read while this one computes.
	DEVICE void products() {
#pragma unroll
		for (int f = 0; f < 8; f++)
#pragma unroll
			for (int o = 0; o < 8; o++) v[f][o] = 0.f;
		if (S::BORDER)
			for (int q = threadIdx.x; q < 2 * S::INPUT; q += S::THREADS) shared[q] = 0.f;
		if (S::BORDER) sync_threads();
		put_input(0, input(0));
#pragma unroll
		for (int n = 0; n < S::LINES; n++) put_weights(0, n, weights(0, 0, n));
		sync_threads();
		int chunk = 0, ky = 0, steps = a.ci / S::CHUNK * S::STEPS;
		for (int step = 0; step < steps; step++) {
			int next_ky = ky + 1 < S::STEPS ? ky + 1 : 0, next = next_ky == 0 ? chunk + 1 : chunk;
			if (next_ky == 0) {
				Line l = input(next);
				multiply(chunk, ky, step, 0);
				put_input(next, l);
			} else {
				multiply(chunk, ky, step, 0);
			}
			Line w[S::LINES];
#pragma unroll
			for (int n = 0; n < S::LINES; n++) w[n] = weights(next, next_ky, n);
			multiply(chunk, ky, step, S::CHUNK / 2);
#pragma unroll
			for (int n = 0; n < S::LINES; n++) put_weights(step + 1, n, w[n]);
			sync_threads();
			chunk = next;
			ky = next_ky;
		}
	}

	// finish_row does the epilogue of 4 neighbouring outputs from o on of row r, and
	// adds to the thread's part of the sums: of v, of v*v or v*z.
	DEVICE void finish_row(int r, int o, const float4& sum, float (&total)[2][4]) const {
		size_t at = (size_t)r * a.co + o;
		float4 add = a.add ? *(const float4*)((const float*)a.add + at) : make_float4(0.f, 0.f, 0.f, 0.f);
		float4 z = a.z ? *(const float4*)((const float*)a.z + at) : make_float4(0.f, 0.f, 0.f, 0.f);
		float4 y = sum;
		float* v = &y.x;
#pragma unroll
		for (int e = 0; e < 4; e++) {
			v[e] = v[e] + (a.bias ? a.bias[o + e] : 0.f) + (&add.x)[e];
			float other = v[e];
			if (a.z) {
				other = (&z.x)[e];
				v[e] *= activation_slope(other * (a.z_scale ? a.z_scale[o + e] : 1.f) + (a.z_shift ? a.z_shift[o + e] : 0.f), a.z_act);
			}
			total[0][e] += v[e];
			total[1][e] += v[e] * other;
		}
		if (a.y) *(float4*)((float*)a.y + at) = y;
		if (a.y32) *(float4*)(a.y32 + at) = y;
	}

	// finish writes the results, 4 outputs at a time; the thread's sums pass through
	// shared memory, for registers have no index. A board's sums: files in order, then
	// the ranks of a warp, then the board's two warps.
	DEVICE void finish() const {
		float4* mine = (float4*)shared + threadIdx.x;
		float* parts = shared + S::EXCHANGE + board * 128;  // [2][64]: of the board's second warp
		int r = row + board * 64 + rank * 8;
#pragma unroll
		for (int h = 0; h < 2; h++) {
			int c = h * 32 + column * 4, o = out + c;
			float total[2][4] = {{0.f, 0.f, 0.f, 0.f}, {0.f, 0.f, 0.f, 0.f}};
#pragma unroll
			for (int f = 0; f < 8; f++) mine[f * S::THREADS] = make_float4(v[f][h * 4], v[f][h * 4 + 1], v[f][h * 4 + 2], v[f][h * 4 + 3]);
#pragma unroll 1
			for (int f = 0; f < 8; f++)
				if (r + f < a.rows && o < a.co) finish_row(r + f, o, mine[f * S::THREADS], total);
			if (!a.sums) continue;
#pragma unroll
			for (int e = 0; e < 8; e++) {
				float& t = total[e / 4][e % 4];
				t += shuffle_xor(t, 8);
				t += shuffle_xor(t, 16);
				if (rank == 4) parts[e / 4 * 64 + c + e % 4] = t;
			}
			sync_threads();
			if (rank != 0 || r >= a.rows || o >= a.co) continue;
#pragma unroll
			for (int e = 0; e < 8; e++) a.sums[((size_t)(r / 64) * 2 + e / 4) * a.co + o + e % 4] = total[e / 4][e % 4] + parts[e / 4 * 64 + c + e % 4];
		}
	}
};

// conv_float is the kernel's body: grid.x tiles of 64 outputs, grid.y of BOARDS boards.
template <int TAPS, int BOARDS> DEVICE void conv_float(const ConvArgs& a) {
	int t = threadIdx.x;
	FloatConv<TAPS, BOARDS> c = {a, t / 64, t / 8 % 8, t % 8, (int)blockIdx.y * BOARDS * 64, (int)blockIdx.x * 64, (float*)shared_memory()};
	c.products();
	c.finish();
}
