// Convolutions with tensor cores: an implicit matrix product.
//
// A warp computes one board (64 rows) by WARP_N outputs, whatever the block's tile:
// so every result is summed in one order, and a board's sums need no other warp. The
// input tile of CHUNK channels is brought once and serves all taps: ldmatrix takes
// the address of each row, so a tap is a shift of addresses. Weights stream through
// a ring of stages, one (chunk, tap) each, in the order chunk, tap.
//
// What a multiply of 16x8x16 (4096 FLOP) costs with the wide tile, 64x64 a warp: 128
// bytes of shared memory through ldmatrix (16 of them for 64 multiplies) and 23
// written by cp.async, which come from L2: 16 of weights, 64/9 of input. mma.sync on
// an H100 reaches about 62 % of wgmma's one multiply a clock and SM. That is 94 of the
// 128 bytes a clock that shared memory gives, and 14 of L2: neither is the limit. 242
// registers, two blocks an SM: a scheduler has a warp of each, which hides the
// other's barriers, transform and epilogue. The slim tile takes 149 bytes a multiply
// through ldmatrix; the small one 320 and 71 of copies, so that with its epilogue shared memory
// bounds it at 0.3 multiplies a clock: it is for few boards.
#pragma once

#include "conv_tile.cuh"
#include "conv_epilogue.cuh"

// ConvTile is the shape of a block: BOARDS x COLUMNS warps, each 64 rows x WARP_N
// outputs. STAGES9, STAGES1: of the ring, for 3x3 and 1x1.
template <int BOARDS_, int COLUMNS_, int WARP_N_, int STAGES9_, int STAGES1_> struct ConvTile {
	enum { BOARDS = BOARDS_, COLUMNS = COLUMNS_, WARP_N = WARP_N_, STAGES9 = STAGES9_, STAGES1 = STAGES1_ };
	enum { ROWS = 64 * BOARDS, OUTS = COLUMNS * WARP_N, THREADS = WARP * BOARDS * COLUMNS };
};

// Fragments of 16 channels: rows as mma's a, outputs as two b each.
template <int WARP_N> struct Fragments {
	uint32_t a[4][4], b[WARP_N / 16][4];
};

// load_fragments reads the 16 channels k of a step: `lines` are this lane's rows of
// the four row fragments, `weights` its line of the first 16 outputs.
template <int WARP_N> DEVICE void load_fragments(Fragments<WARP_N>& f, const char* shared, const int (&lines)[4], int weights, int k) {
#pragma unroll
	for (int i = 0; i < 4; i++) load_matrix_x4(f.a[i], shared + lines[i] + k * 32);
#pragma unroll
	for (int j = 0; j < WARP_N / 16; j++) load_matrix_x4(f.b[j], shared + weights + j * 16 * TILE_LINE + k * 32);
}

template <class T, int WARP_N> DEVICE void multiply(Sums<WARP_N>& s, const Fragments<WARP_N>& f) {
#pragma unroll
	for (int j = 0; j < WARP_N / 8; j++) {
		uint32_t b[2] = {f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]};
#pragma unroll
		for (int i = 0; i < 4; i++) mma<T>(s.v[i][j], f.a[i], b);
	}
}

// ConvShared lays out shared memory: zeros, input tiles, ring of weights. The
// epilogue reuses it from the input tiles on.
template <int TAPS, class TILE> struct ConvShared {
	enum {
		STAGES = TAPS == 1 ? TILE::STAGES1 : TILE::STAGES9,
		AHEAD = STAGES - 1,               // steps that weights are asked ahead of use
		INPUTS = TAPS == 1 ? STAGES : 2,  // input tiles
		INPUT = TILE::ROWS * TILE_LINE,
		WEIGHT = TILE::OUTS * TILE_LINE,
		RING = ZERO_BYTES + INPUTS * INPUT,
		LATE = 6,  // the tap of a 3x3 by which the next input tile has arrived, and is transformed
	};
	static_assert(AHEAD >= 2 && AHEAD <= LATE, "a tile would be transformed before it is there");
};

// ConvFeed brings input tiles and weights to shared memory, in the order of use.
template <class T, int TAPS, class TILE> struct ConvFeed {
	typedef ConvShared<TAPS, TILE> S;
	// 16-byte pieces of an input tile that a thread brings
	enum { INPUT_PIECES = TILE::ROWS * PIECES / TILE::THREADS };
	const ConvArgs& a;
	char* shared;
	int row, out;                                 // first row and output of the block
	int x_chunk, x_input, w_chunk, w_tap, w_stage;  // what is asked for next

	DEVICE char* input(int chunk) const { return shared + ZERO_BYTES + chunk % S::INPUTS * S::INPUT; }

	DEVICE void ask_input() {
		if (x_chunk * CHUNK < a.ci) copy_tile<T, TILE::ROWS, TILE::THREADS>(shared + ZERO_BYTES + x_input * S::INPUT, (const T*)a.x, row, a.rows, x_chunk * CHUNK, a.ci);
		x_chunk++;
		if (++x_input == S::INPUTS) x_input = 0;
	}

	DEVICE void ask_weights() {
		const T* w = (const T*)a.w + (size_t)w_tap * a.co * a.ci;
		if (w_chunk * CHUNK < a.ci) copy_tile<T, TILE::OUTS, TILE::THREADS>(shared + S::RING + w_stage * S::WEIGHT, w, out, a.co, w_chunk * CHUNK, a.ci);
		if (++w_tap == TAPS) w_tap = 0, w_chunk++;
		if (++w_stage == S::STAGES) w_stage = 0;
	}

	// transforms says whether the input passes through an affine map and an activation.
	DEVICE bool transforms() const { return a.in_scale || a.in_shift || a.in_act != ACT_NONE; }

	// transform does half h of what this thread brought of a chunk.
	DEVICE void transform(int chunk, int h) const {
		const int half = INPUT_PIECES / 2;
		if (chunk * CHUNK >= a.ci) return;
		transform_tile<T, TILE::ROWS, TILE::THREADS, half>(input(chunk), h * half, a.in_scale, a.in_shift, a.in_act, chunk * CHUNK, a.ci);
	}

	// start asks for what the first AHEAD steps need.
	DEVICE void start() {
		for (int n = 0; n < S::AHEAD; n++) {
			if (n == 0 || TAPS == 1) ask_input();
			ask_weights();
			commit_async();
		}
		if (!transforms()) return;
		wait_async<S::AHEAD - 1>();
#pragma unroll 1
		for (int h = 0; h < 2; h++) transform(0, h);
	}

	// step waits for what a step needs, and asks for more: a 3x3's next input tile at
	// tap 0, when all warps are done with the one before. A 1x1 that transforms has its
	// next input tile there, too.
	DEVICE void step(int tap) {
		if (TAPS == 1 && transforms()) {
			wait_async<S::AHEAD - 2>();
		} else {
			wait_async<S::AHEAD - 1>();
		}
		sync_threads();
		if (TAPS == 1 || tap == 0) ask_input();
		ask_weights();
		commit_async();
	}
};

// conv_products runs the main loop. At the end all threads have passed their last
// read of shared memory. lane, board and column: of the thread, and the block's board
// and its first output that the warp works on.
template <class T, int TAPS, class TILE> DEVICE void conv_products(Sums<TILE::WARP_N>& sums, ConvFeed<T, TAPS, TILE>& feed, int lane, int board, int column) {
	typedef ConvShared<TAPS, TILE> S;
	if (threadIdx.x < ZERO_BYTES / 16) ((uint4*)feed.shared)[threadIdx.x] = make_uint4(0, 0, 0, 0);
	feed.start();
	const int weights = S::RING + ((lane & 7) + (lane >> 4) * 8 + column) * TILE_LINE + (lane >> 3 & 1) * 16;
	const int steps = (feed.a.ci + CHUNK - 1) / CHUNK * TAPS;
	int chunk = 0, tap = 0, stage = 0;
	for (int step = 0; step < steps; step++) {
		feed.step(tap);
		int lines[4], first = (int)(feed.input(chunk) - feed.shared) + board * 64 * TILE_LINE;
#pragma unroll
		for (int i = 0; i < 4; i++) lines[i] = square_line(first, i * 16 + (lane & 15), TAPS == 1 ? 4 : tap) + (lane >> 4) * 16;
		Fragments<TILE::WARP_N> f[2];
		load_fragments(f[0], feed.shared, lines, weights + stage * S::WEIGHT, 0);
		load_fragments(f[1], feed.shared, lines, weights + stage * S::WEIGHT, 1);
		multiply<T>(sums, f[0]);
		multiply<T>(sums, f[1]);
		if (feed.transforms()) {
			if (TAPS == 1)
#pragma unroll 1
				for (int h = 0; h < 2; h++) feed.transform(chunk + 1, h);
			else if (tap == S::LATE || tap == S::LATE + 1)
				feed.transform(chunk + 1, tap - S::LATE);
		}
		if (++tap == TAPS) tap = 0, chunk++;
		if (++stage == S::STAGES) stage = 0;
	}
	wait_async<0>();
	sync_threads();
}

// conv_half is the kernel's body: grid.x tiles of outputs, grid.y tiles of rows.
template <class T, int TAPS, class TILE> DEVICE void conv_half(const ConvArgs& a) {
	int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, board = warp / TILE::COLUMNS, column = warp % TILE::COLUMNS * TILE::WARP_N;
	ConvFeed<T, TAPS, TILE> feed = {a, shared_memory(), (int)blockIdx.y * TILE::ROWS, (int)blockIdx.x * TILE::OUTS, 0, 0, 0, 0, 0};
	Sums<TILE::WARP_N> sums;
#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int j = 0; j < TILE::WARP_N / 8; j++)
#pragma unroll
			for (int e = 0; e < 4; e++) sums.v[i][j][e] = 0.f;
	conv_products<T, TAPS, TILE>(sums, feed, lane, board, column);
	conv_epilogue<T>(sums, a, feed.shared + ZERO_BYTES + warp * PATCH_BYTES, feed.row + board * 64, feed.out + column);
}
