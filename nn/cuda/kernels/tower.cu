// The fused net for inference with tensor cores: tower_bf16, tower_fp16.
//
// A block holds its boards' activations in shared memory through all layers and
// streams the weights once; a warp computes one board by 32 channels, so that
// SE's sums need one warp alone and a board's result does not depend on what else
// is in the batch. Registers (128 a thread) allow 16 such warps an SM.
//
// Counts, of a warp and stage (16 inputs, three taps): 48 mma; 5 KiB read from shared
// memory, 107 bytes an mma, and 64/boards written; 64/boards bytes from L2 an mma;
// some 175 instructions. Where an SM does one mma in 1.6 clocks (mma.sync on an
// H100, 62 % of the wgmma rate), with 2 boards a block, shared memory is busy 68 % of
// the time, issue 57 %, and L2 has to give 20 bytes a clock and SM: that is the
// tightest, and half with 4 boards.
#include "device.cuh"

#ifdef HALF
#include "tower_parts.cuh"
#include "tower_softmax.cuh"

// add_bias adds a layer's bias to its sums.
DEVICE void add_bias(const Tower& s, Tile& d, const float* bias) {
#pragma unroll
	for (int n = 0; n < 4; n++) {
		float b0 = bias[s.column + n * 8 + lane_column()], b1 = bias[s.column + n * 8 + lane_column() + 1];
#pragma unroll
		for (int m = 0; m < 4; m++) {
			d[m][n][0] += b0;
			d[m][n][1] += b1;
			d[m][n][2] += b0;
			d[m][n][3] += b1;
		}
	}
}

// excite makes the tile gate*tile + shift + x; without SE gate is 1 and shift 0.
template <class T> DEVICE void excite(const TowerArgs& a, const Tower& s, Tile& d) {
#pragma unroll
	for (int n = 0; n < 4; n++) {
		float gate[2] = {1.f, 1.f}, offset[2] = {0.f, 0.f};
		if (a.se_stages > 0) {
			int c = s.board * a.channels + s.column + n * 8 + lane_column();
			const float *g = pool(a), *f = shift(a);
			gate[0] = g[c], gate[1] = g[c + 1];
			offset[0] = f[c], offset[1] = f[c + 1];
		}
#pragma unroll
		for (int m = 0; m < 4; m++)
#pragma unroll
			for (int i = 0; i < 4; i += 2) {
				uint32_t x = *(const uint32_t*)(x_rows(s) + at(s, m, n) + i * 4 * s.row_bytes);
				d[m][n][i] = d[m][n][i] * gate[0] + offset[0] + pair_low<T>(x);
				d[m][n][i + 1] = d[m][n][i + 1] * gate[1] + offset[1] + pair_high<T>(x);
			}
	}
}

template <int ACT> DEVICE void activate_tile(Tile& d) {
#pragma unroll
	for (int m = 0; m < 4; m++)
#pragma unroll
		for (int n = 0; n < 4; n++)
#pragma unroll
			for (int i = 0; i < 4; i++) d[m][n][i] = activate(d[m][n][i], ACT);
}

// activate takes one branch for all elements, so that their work overlaps.
DEVICE void activate(Tile& d, int act) {
	if (act == ACT_RELU) activate_tile<ACT_RELU>(d);
	else if (act == ACT_MISH) activate_tile<ACT_MISH>(d);
}

// store writes the tile to x or h.
template <class T> DEVICE void store(const Tower& s, const Tile& d, char* to) {
#pragma unroll
	for (int m = 0; m < 4; m++)
#pragma unroll
		for (int n = 0; n < 4; n++) {
			char* p = to + at(s, m, n);
			*(uint32_t*)p = pack_pair<T>(d[m][n][0], d[m][n][1]);
			*(uint32_t*)(p + 8 * s.row_bytes) = pack_pair<T>(d[m][n][2], d[m][n][3]);
		}
}

// store_flat writes outputs column to column+31 of the heads' 1x1 convolutions.
template <class T> DEVICE void store_flat(const TowerArgs& a, const Tower& s, const Tile& d, int column) {
	int board = own(a, s);
	if (board < 0) return;
	uint16_t* flat = (uint16_t*)a.flat + (long long)board * 64 * a.head_columns;
#pragma unroll
	for (int n = 0; n < 4; n++) {
		int o = column + n * 8, head = 0, before = 0;  // 8 outputs lie in one head
		if (o >= a.head_columns) continue;
		while (o - before >= a.width[head]) before += a.width[head++];
		uint16_t* to = flat + before * 64 + lane_row() * a.width[head] + o - before + lane_column();
#pragma unroll
		for (int m = 0; m < 4; m++)
#pragma unroll
			for (int i = 0; i < 4; i += 2) *(uint32_t*)(to + (m * 16 + i * 4) * a.width[head]) = pack_pair<T>(d[m][n][i], d[m][n][i + 1]);
	}
}

// conv1 sums a 1x1 convolution of x.
template <class T> DEVICE void conv1(const TowerArgs& a, Tower& s, Tile& d, bool active) {
	const char* rows = x_rows(s) + s.board * 64 * s.row_bytes + lane_offset(s.row_bytes);
	int offset = s.column / 16 * 512 + threadIdx.x % WARP * 16, step = a.channels / 16 * 512;
	for (int chunk = 0; chunk < a.channels / 16; chunk += 3) {
		const char* stage = ring_next(s.ring) + offset;
		if (!active) continue;
#pragma unroll 1
		for (int i = 0; i < imin(3, a.channels / 16 - chunk); i++) {
			uint32_t x[4][4];
			load_board(x, rows + (chunk + i) * 32, s.row_bytes);
			Weights w = load_weights(stage + i * step);
#pragma unroll
			for (int m = 0; m < 4; m++) multiply<T>(d[m], x[m], w);
		}
	}
}

// conv3 sums a 3x3 convolution of `chunks` times 16 channels.
template <class T> DEVICE void conv3(const TowerArgs& a, Tower& s, Tile& d, const char* input, int row_bytes, int chunks, bool active) {
	const char* rows = input + (s.board * 64 - 1) * row_bytes + lane_offset(row_bytes);
	int offset = s.column / 16 * 512 + threadIdx.x % WARP * 16, step = a.channels / 16 * 512;
#pragma unroll 1
	for (; chunks > 0; chunks--, rows += 32)
#pragma unroll
		for (int kx = 0; kx < 3; kx++) {
			const char* stage = ring_next(s.ring) + offset;
			bool off = (kx == 0 && lane_row() == 0) || (kx == 2 && lane_row() == 7);
			if (active) conv_stage<T>(d, rows + kx * row_bytes, row_bytes, off, stage, step);
		}
}

// layers: 0 is the input's, then the tower's to 2*blocks, then passes of the heads'
// 1x1 convolutions, then the policy's two 3x3, the last one in passes.
template <class T> DEVICE void tower(const TowerArgs& a) {
	Tower s = tower_place(a);
	if (blockIdx.x * a.boards >= *a.count) return;
	ring_start(s.ring);
	expand<T>(a);
	const int c = a.channels, last = 2 * a.blocks, policy = last + a.head_passes + 1;
	const int layers = a.policy_passes > 0 ? policy + 1 + a.policy_passes : policy;
#pragma unroll 1
	for (int layer = 0; layer < layers; layer++) {
		bool head = layer > last && layer < policy, second = layer > 0 && layer <= last && layer % 2 == 0;
		Tile d;
		clear(d);
		if (head) {
			int pass = layer - last - 1;  // of outputs
			conv1<T>(a, s, d, pass * c + s.column < a.head_columns);
			add_bias(s, d, a.head_bias + pass * c);
		} else {
			const char* input = layer == 0 ? plane_rows() : second || layer > policy ? h_rows(a, s) : x_rows(s);
			fetch_vector(a, s, layer <= last ? layer : layer - a.head_passes, second ? a.vector : c);
			conv3<T>(a, s, d, input, layer == 0 ? (int)PLANE_ROW : s.row_bytes, layer == 0 ? PLANES / 16 : c / 16,
			         layer <= policy || (layer - policy - 1) * c + s.column < POLICY_PLANES);
			add_bias(s, d, vector(s));
		}
		if (second) {
			if (a.se_stages > 0) squeeze<T>(a, s, d);
			excite<T>(a, s, d);
		}
		if (layer > policy) {
			gather(a, s, d, layer - policy - 1);
			continue;
		}
		activate(d, a.act);
		if (layer > last && layer < policy) {
			store_flat<T>(a, s, d, (layer - last - 1) * c + s.column);
			continue;
		}
		if (layer == 0) sync_threads();  // all have read the planes
		store<T>(s, d, layer == policy || (layer <= last && layer % 2 == 1) ? h_rows(a, s) : x_rows(s));
	}
	sync_threads();
	int board = own(a, s);
	if (a.policy_passes > 0 && s.column == 0 && board >= 0) {
		int begin = a.start[board];
		float* p = a.prior + begin;
		softmax_moves(p, a.start[board + 1] - begin, [p](int i) { return p[i]; });
	}
}

KERNEL(tower_bf16, TowerArgs, 512, 1) { tower<bf16>(a); }
KERNEL(tower_fp16, TowerArgs, 512, 1) { tower<fp16>(a); }
#endif
