// Tiles in shared memory for kernels that walk 3x3 windows with tensor cores.
//
// A tile holds lines of CHUNK channels, one line a row (a square of a board) or an
// output, each TILE_LINE bytes: 5*16, an odd number of 16-byte pieces, so that the
// 8 lines of an ldmatrix phase lie in different banks, whichever tap shifts them.
#pragma once

#include "conv_four.cuh"

enum {
	CHUNK = 32,           // input channels a tile holds
	PIECES = CHUNK / 8,   // 16-byte pieces of a line
	TILE_LINE = CHUNK * 2 + 16,
	ZERO_BYTES = 256,     // zeros at the start of shared memory, read off the board
};

// square_line returns the offset in shared memory of a lane's line for ldmatrix: the
// square `square` (0..63) of the board whose line 0 is at `board`, shifted by the tap;
// off the board, zeros in the bank that the line would have had.
DEVICE int square_line(int board, int square, int tap) {
	int ky = tap / 3 - 1, kx = tap % 3 - 1;
	int rank = (square >> 3) + ky, file = (square & 7) + kx;
	int line = rank * 8 + file;
	bool inside = (unsigned)rank < 8u && (unsigned)file < 8u;
	return inside ? board + line * TILE_LINE : (line * (TILE_LINE / 16) & 7) * 16;
}

// own_line returns which line a thread works on, of the THREADS/PIECES that a block does
// at a time; of it, piece threadIdx.x%PIECES. A warp has 8 lines, 8 lanes of it the
// pieces of two lines 4 apart, which fill all banks; two neighbours would share some.
DEVICE int own_line() { return threadIdx.x / WARP * 8 + threadIdx.x / 8 % 4 + threadIdx.x / 4 % 2 * 4; }

// copy_tile starts copies of LINES lines of channels [channel, channel+CHUNK) from
// src [lines][channels] T, from line `first` on, into a tile; lines from `lines` and
// channels from `channels` on become zeros. A thread takes its piece of every
// THREADS/PIECES-th line from own_line on: transform_tile relies on that.
template <class T, int LINES, int THREADS>
DEVICE void copy_tile(char* tile, const T* src, int first, int lines, int channel, int channels) {
	int piece = threadIdx.x % PIECES, line = own_line();
	channel += piece * 8;
	bool inside = channel < channels;
#pragma unroll
	for (int n = 0; n < (LINES * PIECES + THREADS - 1) / THREADS; n++, line += THREADS / PIECES) {
		if (LINES * PIECES % THREADS != 0 && line >= LINES) break;
		bool valid = inside && first + line < lines;
		copy_async16(tile + line * TILE_LINE + piece * 16, valid ? src + (size_t)(first + line) * channels + channel : src, valid);
	}
}

// unpack takes eight elements out of a piece; pack_eight makes one.
template <class T> DEVICE void unpack(float (&v)[8], uint4 q) {
	const uint32_t p[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
	for (int e = 0; e < 4; e++) {
		T low, high;
		low.bits = (uint16_t)p[e];
		high.bits = (uint16_t)(p[e] >> 16);
		v[2 * e] = to_float(low);
		v[2 * e + 1] = to_float(high);
	}
}
template <class T> DEVICE uint32_t pack_two(float low, float high) { return (uint32_t)from_float<T>(low).bits | (uint32_t)from_float<T>(high).bits << 16; }
template <class T> DEVICE uint4 pack_eight(const float (&v)[8]) { return make_uint4(pack_two<T>(v[0], v[1]), pack_two<T>(v[2], v[3]), pack_two<T>(v[4], v[5]), pack_two<T>(v[6], v[7])); }

// activate_all applies one activation to eight values.
DEVICE void activate_all(float (&v)[8], int act) {
	if (act == ACT_MISH) {
#pragma unroll
		for (int e = 0; e < 8; e++) v[e] = activate(v[e], ACT_MISH);
	} else if (act == ACT_RELU) {
#pragma unroll
		for (int e = 0; e < 8; e++) v[e] = activate(v[e], ACT_RELU);
	}
}

// transform_tile replaces x by act(x*scale+shift) in COUNT pieces, from the one that
// this thread's copy_tile of the same arguments has brought as number `from` on.
// scale, shift null: 1, 0.
template <class T, int LINES, int THREADS, int COUNT>
DEVICE void transform_tile(char* tile, int from, const float* scale, const float* shift, int act, int channel, int channels) {
	int piece = threadIdx.x % PIECES, line = own_line() + from * (THREADS / PIECES);
	channel += piece * 8;
	if (channel >= channels) return;
	float k[8] = {1.f, 1.f, 1.f, 1.f, 1.f, 1.f, 1.f, 1.f}, c[8] = {0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
	if (scale) get_four(k, scale + channel), get_four(k + 4, scale + channel + 4);
	if (shift) get_four(c, shift + channel), get_four(c + 4, shift + channel + 4);
#pragma unroll 1
	for (int n = 0; n < COUNT; n++, line += THREADS / PIECES) {
		uint4* at = (uint4*)(tile + line * TILE_LINE + piece * 16);
		float v[8];
		unpack<T>(v, *at);
#pragma unroll
		for (int e = 0; e < 8; e++) v[e] = v[e] * k[e] + c[e];
		activate_all(v, act);
		*at = pack_eight<T>(v);
	}
}
