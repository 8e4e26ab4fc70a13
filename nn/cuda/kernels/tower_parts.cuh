// The phases of the fused tower besides its convolutions.
#pragma once
#include "tower_args.cuh"
#include "tower_stage.cuh"

enum { PLANES = 112, MASKS = 104, PLANE_ROW = (PLANES + 8) * 2, POLICY_PLANES = 80 };

// Tower is where a thread stands: its warp has one board and 32 of the channels.
// Places in shared memory are offsets, which take half the registers of pointers.
struct Tower {
	int board, column;  // the warp's board in the block, its first channel
	int row_bytes;      // of x and h: row 0 of [boards*64][channels+8] T; one more row lies before and behind
	int vector;         // floats of the layer; two layers' lie behind the ring, then pool, shift, hidden
	Ring ring;
};

DEVICE int lane_row() { return threadIdx.x % WARP / 4; }  // g of mma's fragments
DEVICE int lane_column() { return threadIdx.x % 4 * 2; }  // 2t
// own is the warp's board in the batch; negative past its end.
DEVICE int own(const TowerArgs& a, const Tower& s) {
	int board = blockIdx.x * a.boards + s.board;
	return board < *a.count ? board : -1;
}
DEVICE char* plane_rows() { return shared_memory() + PLANE_ROW; }  // the input lies where x and h will
DEVICE char* x_rows(const Tower& s) { return shared_memory() + s.row_bytes; }
DEVICE char* h_rows(const TowerArgs& a, const Tower& s) { return shared_memory() + a.buffer + s.row_bytes; }
DEVICE float* vector(const Tower& s) { return (float*)(shared_memory() + s.vector); }
// pool, shift and hidden are [boards][channels], the same, and [boards][16]; pool becomes
// the gate. A block has boards*channels threads.
DEVICE float* pool(const TowerArgs& a) { return (float*)(shared_memory() + a.ring_end) + 2 * a.vector; }
DEVICE float* shift(const TowerArgs& a) { return pool(a) + blockDim.x; }
DEVICE float* hidden(const TowerArgs& a) { return shift(a) + blockDim.x; }

DEVICE Tower tower_place(const TowerArgs& a) {
	Tower s;
	int c = a.channels, warp = threadIdx.x / WARP;
	s.board = warp / (c / 32);
	s.column = warp % (c / 32) * 32;
	s.row_bytes = (c + 8) * 2;
	s.ring.first = a.ring;
	s.ring.end = a.ring_end;
	s.ring.next = (const char*)a.weights;
	s.ring.left = a.stages;
	s.ring.bytes = 96 * c;
	return s;
}

// at returns the byte offset in x or h of the lane's first square of tile m and its
// first output of tile n; that of its other square is 8 rows on.
DEVICE int at(const Tower& s, int m, int n) {
	return (s.board * 64 + m * 16 + lane_row()) * s.row_bytes + (s.column + n * 8 + lane_column()) * 2;
}

// expand writes the block's input planes. A task is 8 planes of a rank; boards past
// the batch are 0.
template <class T> DEVICE void expand(const TowerArgs& a) {
	const uint32_t one = from_float<T>(1.f).bits;
	int first = blockIdx.x * a.boards, count = *a.count;
#pragma unroll 1
	for (int task = threadIdx.x; task < a.boards * 8 * (PLANES / 8); task += blockDim.x) {
		int group = task % (PLANES / 8), rank = task / (PLANES / 8) % 8, board = task / (PLANES / 8 * 8);
		uint32_t bits[8] = {}, value[8] = {};
		if (first + board < count) {
			const uint64_t* masks = a.masks + (long long)(first + board) * MASKS + group * 8;
			const uint8_t* scalars = a.scalars + (long long)(first + board) * 6;
			for (int i = 0; i < 8; i++) {
				bool mask = group < MASKS / 8;
				float constant = mask || i == 6 ? 0.f : i == 7 ? 1.f : i == 5 ? scalars[5] / 99.f : (float)scalars[i];
				bits[i] = mask ? (uint32_t)(masks[i] >> (rank * 8)) & 255u : 255u;
				value[i] = mask ? one : (uint32_t)from_float<T>(constant).bits;
			}
		}
		char* row = plane_rows() + (board * 64 + rank * 8) * PLANE_ROW + group * 16;
		for (int file = 0; file < 8; file++) {
			uint32_t v[8];
			for (int i = 0; i < 8; i++) v[i] = bits[i] >> file & 1u ? value[i] : 0u;
			*(uint4*)(row + file * PLANE_ROW) = make_uint4(v[0] | v[1] << 16, v[2] | v[3] << 16, v[4] | v[5] << 16, v[6] | v[7] << 16);
		}
	}
}

// fetch_vector starts to copy the first n floats of a layer's vector, to where that of
// the layer before the last one was. They are there after depth stages more, fewer
// than any 3x3 convolution has.
DEVICE void fetch_vector(const TowerArgs& a, Tower& s, int layer, int n) {
	s.vector = a.ring_end + layer % 2 * a.vector * 4;
	const float* from = a.vectors + (long long)layer * a.vector;
	for (int i = threadIdx.x * 4; i < n; i += blockDim.x * 4) copy_async16(vector(s) + i, from + i, true);
}

// squeeze reduces the tile, the second convolution's output, to gate and shift of
// its channels (args.cuh, se_forward). A thread has one channel of a board in the
// last step.
template <class T> DEVICE void squeeze(const TowerArgs& a, Tower& s, const Tile& d) {
	int c = a.channels, lane = threadIdx.x % WARP, own = threadIdx.x % c, board = threadIdx.x / c;
	float *pooled = pool(a), *units = hidden(a);
#pragma unroll
	for (int n = 0; n < 4; n++) {
#pragma unroll
		for (int i = 0; i < 2; i++) {
			float sum = 0.f;
#pragma unroll
			for (int m = 0; m < 4; m++) sum += d[m][n][i] + d[m][n][i + 2];
			for (int mask = 4; mask < WARP; mask *= 2) sum += shuffle_xor(sum, mask);
			if (lane_row() == 0) pooled[s.board * c + s.column + n * 8 + lane_column() + i] = sum * (1.f / 64.f);
		}
	}
	const float *b2 = vector(s) + c, *b1 = vector(s) + 3 * c;
	float gate = b2[own], offset = b2[c + own];
	for (int j = 0; j < a.se_stages; j++) {
		const char* stage = ring_next(s.ring);
		for (int u = s.column / 32; u < 16; u += c / 32) {
			const uint32_t* w1 = (const uint32_t*)(stage + u * c * 2);
			float sum = 0.f;
			for (int i = lane; i < c / 2; i += WARP) {
				float2 p = *(const float2*)(pooled + s.board * c + 2 * i);
				sum += pair_low<T>(w1[i]) * p.x;
				sum += pair_high<T>(w1[i]) * p.y;
			}
			for (int mask = 1; mask < WARP; mask *= 2) sum += shuffle_xor(sum, mask);
			if (lane == 0) units[s.board * 16 + u] = activate(sum + b1[j * 16 + u], a.act);
		}
		sync_threads();
		const uint4* w2 = (const uint4*)(stage + 32 * c);
		for (int half = 0; half < 2; half++) {
			uint4 wg = w2[half * c + own], ws = w2[(2 + half) * c + own];
			uint32_t pg[4] = {wg.x, wg.y, wg.z, wg.w}, ps[4] = {ws.x, ws.y, ws.z, ws.w};
#pragma unroll
			for (int i = 0; i < 4; i++) {
				float h0 = units[board * 16 + half * 8 + 2 * i], h1 = units[board * 16 + half * 8 + 2 * i + 1];
				gate += pair_low<T>(pg[i]) * h0 + pair_high<T>(pg[i]) * h1;
				offset += pair_low<T>(ps[i]) * h0 + pair_high<T>(ps[i]) * h1;
			}
		}
	}
	pooled[board * c + own] = 1.f / (1.f + expf(-gate));
	shift(a)[board * c + own] = offset;
	sync_threads();
}

// gather stages the tile's logits in x, 16 outputs of each warp at a time, and
// copies those of legal moves to prior.
DEVICE void gather(const TowerArgs& a, const Tower& s, const Tile& d, int pass) {
	enum { PLANE = 68 };  // floats of a plane, 4 more than squares: no bank conflicts
	int c = a.channels, active = imin((POLICY_PLANES - pass * c + 31) / 32, c / 32);  // warps of a board with outputs
	int begin = 0, end = 0, board = own(a, s);
	if (board >= 0) {
		begin = a.start[board] + s.column + threadIdx.x % WARP;
		end = a.start[board + 1];
	}
	float* stage = (float*)x_rows(s) + s.board * active * 16 * PLANE;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		sync_threads();
		if (s.column / 32 < active) {
			float* to = stage + s.column / 32 * 16 * PLANE + lane_row();
#pragma unroll
			for (int m = 0; m < 4; m++)
#pragma unroll
				for (int n = 0; n < 2; n++)
#pragma unroll
					for (int i = 0; i < 4; i++) to[(n * 8 + lane_column() + i % 2) * PLANE + m * 16 + i / 2 * 8] = d[m][2 * half + n][i];
		}
		sync_threads();
		for (int i = begin; i < end; i += c) {
			int place = a.place[a.legal[i]], o = place / 64 - pass * c;
			if (o >= 0 && o < c && o / 16 % 2 == half) a.prior[i] = stage[(o / 32 * 16 + o % 16) * PLANE + place % 64];
		}
	}
}
