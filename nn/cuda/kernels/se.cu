// Squeeze-and-excitation: its two small layers over the pooled boards, both ways.
// A block takes B boards; weights are read once a block, through L2. The order of
// every sum is the same for every B, so a board's result depends on nothing else.
#include "device.cuh"
#include "args.cuh"

#ifdef F32

enum { SE_THREADS = 256, SE_CHUNK = 16, SE_PARTS = 8, SE_STRIDE = SE_CHUNK + 1 };

// Boards says which boards a block has.
template <int B> struct Boards {
	int first, count;
	DEVICE Boards(int boards) : first(blockIdx.x * B), count(imin(B, boards - first)) {}
};

// SmallLayer is the arithmetic of both layers both ways: B boards times weights w,
// [outputs][depth] or, TRANSPOSED, [depth][outputs]. The depth is cut in PARTS; a
// thread has one output, one part and all boards. Chunks of SE_CHUNK terms pass
// through shared memory. An index past the end is moved to the last element, as loads
// under a condition would wait for each other: past the end of a part the input
// counts as 0, and results of boards and outputs that are not there are dropped.
template <int B, int PARTS, bool TRANSPOSED> struct SmallLayer {
	static constexpr int WIDTH = SE_THREADS / PARTS;  // outputs at a time
	static constexpr int ROW = B | 4;  // floats of a term: an odd number of fours, to spread over banks
	static constexpr int INPUTS = (PARTS * SE_CHUNK * B + SE_THREADS - 1) / SE_THREADS;

	const float* w;
	int boards, outputs, depth;
	float weight[SE_CHUNK], input[INPUTS];  // what the thread brings of a chunk

	DEVICE int length() const { return (depth + PARTS - 1) / PARTS; }

	// term is a place in the depth: the kk-th of the chunk at k0 of a part.
	DEVICE int term(int part, int k0, int kk) const { return part * length() + k0 + kk; }

	// row is which of the layer's rows of SE_CHUNK terms a thread brings as its i-th: the
	// two of a warp are 16 apart, so that they lie in different banks of the tile.
	DEVICE static int row(int i) { return i / 2 * WARP + threadIdx.x / SE_CHUNK % 2 * SE_CHUNK + i % 2 * (SE_THREADS / WARP) + threadIdx.x / WARP; }

	// load_weights reads the thread's own terms (TRANSPOSED), which neighbours have
	// side by side, or one term of SE_CHUNK rows, which share_weights hands round.
	DEVICE void load_weights(int n0, int k0) {
#pragma unroll
		for (int i = 0; i < SE_CHUNK; i++) {
			int own = TRANSPOSED ? threadIdx.x : row(i);
			int kk = TRANSPOSED ? i : threadIdx.x % SE_CHUNK;
			int n = imin(n0 + own % WIDTH, outputs - 1), k = imin(term(own / WIDTH, k0, kk), depth - 1);
			weight[i] = TRANSPOSED ? w[k * outputs + n] : w[n * depth + k];
		}
	}

	// share_weights turns what was loaded along rows into each thread's own terms.
	DEVICE void share_weights(float* tile) const {
#pragma unroll
		for (int i = 0; i < SE_CHUNK; i++) tile[row(i) * SE_STRIDE + threadIdx.x % SE_CHUNK] = weight[i];
	}

	template <class In> DEVICE void load_input(int k0, In in) {
#pragma unroll
		for (int j = 0; j < INPUTS; j++) {
			int i = j * SE_THREADS + threadIdx.x, kk = i % SE_CHUNK, part = i / SE_CHUNK % PARTS, b = i / (SE_CHUNK * PARTS);
			float v = in(imin(b, boards - 1), imin(term(part, k0, kk), depth - 1));
			input[j] = k0 + kk < length() && term(part, k0, kk) < depth ? v : 0.f;
		}
	}

	// share_input writes to x [PARTS][SE_CHUNK][ROW].
	DEVICE void share_input(float* x) const {
#pragma unroll
		for (int j = 0; j < INPUTS; j++) {
			int i = j * SE_THREADS + threadIdx.x, b = i / (SE_CHUNK * PARTS);
			if (b < B) x[(i / SE_CHUNK % PARTS * SE_CHUNK + i % SE_CHUNK) * ROW + b] = input[j];
		}
	}

	DEVICE void multiply(float (&sum)[B], const float* tile, const float* x) const {
		x += threadIdx.x / WIDTH * SE_CHUNK * ROW;
#pragma unroll
		for (int i = 0; i < SE_CHUNK; i++) {
			float v = TRANSPOSED ? weight[i] : tile[threadIdx.x * SE_STRIDE + i];
#pragma unroll
			for (int b = 0; b < B; b += 4) {
				float4 q = *(const float4*)(x + i * ROW + b);
				sum[b] = fmaf(v, q.x, sum[b]);
				sum[b + 1] = fmaf(v, q.y, sum[b + 1]);
				sum[b + 2] = fmaf(v, q.z, sum[b + 2]);
				sum[b + 3] = fmaf(v, q.w, sum[b + 3]);
			}
		}
	}

	// run calls out(b, n, sum over k of w(n, k)*in(b, k)); parts are added in order.
	// The barrier it begins with lets in see what the block has written.
	template <class In, class Out> DEVICE void run(In in, Out out) {
		float *tile = (float*)shared_memory(), *x = tile + SE_THREADS * SE_STRIDE;
		int t = threadIdx.x;
		sync_threads();
#pragma unroll 1
		for (int n0 = 0; n0 < outputs; n0 += WIDTH) {
			float sum[B] = {};
#pragma unroll 1
			for (int k0 = 0; k0 < length(); k0 += SE_CHUNK) {
				load_weights(n0, k0);
				load_input(k0, in);
				sync_threads();  // the last chunk has been used
				if (!TRANSPOSED) share_weights(tile);
				share_input(x);
				sync_threads();
				multiply(sum, tile, x);
			}
			sync_threads();
#pragma unroll
			for (int b = 0; b < B; b++) tile[t * (B + 1) + b] = sum[b];
			sync_threads();
#pragma unroll 2
			for (int i = t; i < WIDTH * B; i += SE_THREADS) {
				int o = i % WIDTH, b = i / WIDTH;
				float s = 0;
#pragma unroll
				for (int p = 0; p < PARTS; p++) s += tile[(p * WIDTH + o) * (B + 1) + b];
				if (n0 + o < outputs && b < boards) out(b, n0 + o, s);
			}
		}
	}
};

// multiply_boards is a SmallLayer over the block's boards.
template <int B, int PARTS, bool TRANSPOSED, class In, class Out> DEVICE void multiply_boards(const float* w, int boards, int outputs, int depth, In in, Out out) {
	SmallLayer<B, PARTS, TRANSPOSED> layer;
	layer.w = w, layer.boards = boards, layer.outputs = outputs, layer.depth = depth;
	layer.run(in, out);
}

DEVICE float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }

template <int B> DEVICE void se_forward(const SEForwardArgs& a) {
	Boards<B> own(a.boards);
	uint64_t base = (uint64_t)own.first * a.padded, hidden = (uint64_t)own.first * a.units;
	for (int i = threadIdx.x; i < own.count * a.padded; i += SE_THREADS) {
		int b = i / a.padded, c = i % a.padded;
		bool real = c < a.channels;
		a.pool[base + i] = real ? a.sums[2 * base + 2 * b * a.padded + c] * (1.f / 64) * a.scale[c] + a.shift[c] : 0.f;
		if (!real) a.gate[base + i] = a.board_scale[base + i] = a.board_shift[base + i] = 0.f;
	}
	auto pool = [&](int b, int k) { return a.pool[base + b * a.padded + k]; };
	multiply_boards<B, SE_PARTS, false>(a.w1, own.count, a.units, a.channels, pool, [&](int b, int n, float v) {
		a.pre[hidden + b * a.units + n] = v + a.b1[n];
	});
	auto excite = [&](int b, int k) { return activate(a.pre[hidden + b * a.units + k], a.act); };
	multiply_boards<B, 1, false>(a.w2, own.count, a.channels, a.units, excite, [&](int b, int n, float v) {
		float gate = sigmoid(v + a.b2[n]);
		a.gate[base + b * a.padded + n] = gate;
		a.board_scale[base + b * a.padded + n] = gate * a.scale[n];
	});
	multiply_boards<B, 1, false>(a.w2 + (uint64_t)a.channels * a.units, own.count, a.channels, a.units, excite, [&](int b, int n, float v) {
		uint64_t at = base + b * a.padded + n;
		a.board_shift[at] = fmaf(a.gate[at], a.shift[n], v + a.b2[a.channels + n]);
	});
}

template <int B> DEVICE void se_backward(const SEBackwardArgs& a) {
	Boards<B> own(a.boards);
	uint64_t base = (uint64_t)own.first * a.padded, hidden = (uint64_t)own.first * a.units, wide = (uint64_t)own.first * 2 * a.channels;
	for (int i = threadIdx.x; i < own.count * a.padded; i += SE_THREADS) {
		int b = i / a.padded, c = i % a.padded;
		uint64_t first = 2 * base + 2 * b * a.padded + c;
		if (c >= a.channels) {
			a.dyn_scale[base + i] = a.dyn_shift[base + i] = a.dyn_sums[first] = a.dyn_sums[first + a.padded] = 0.f;
			continue;
		}
		float sum = a.sums[first], sumz = a.sums[first + a.padded], gate = a.gate[base + i];
		float dgate = fmaf(a.scale[c], sumz, a.shift[c] * sum);
		a.df[wide + b * 2 * a.channels + c] = dgate * gate * (1.f - gate);
		a.df[wide + b * 2 * a.channels + a.channels + c] = sum;
	}
	auto df = [&](int b, int k) { return a.df[wide + b * 2 * a.channels + k]; };
	multiply_boards<B, SE_PARTS, true>(a.w2, own.count, a.units, 2 * a.channels, df, [&](int b, int n, float v) {
		uint64_t at = hidden + b * a.units + n;
		a.dhid[at] = v * activation_slope(a.pre[at], a.act);
	});
	auto dhid = [&](int b, int k) { return a.dhid[hidden + b * a.units + k]; };
	multiply_boards<B, 1, true>(a.w1, own.count, a.channels, a.units, dhid, [&](int b, int n, float dpool) {
		uint64_t at = base + b * a.padded + n, first = 2 * base + 2 * b * a.padded + n;
		float gate = a.gate[at], shift = dpool * (1.f / 64);
		a.dyn_scale[at] = gate;
		a.dyn_shift[at] = shift;
		a.dyn_sums[first] = fmaf(gate, a.sums[first], dpool);
		a.dyn_sums[first + a.padded] = fmaf(gate, a.sums[first + a.padded], shift * a.zsums[first]);
	});
}

KERNEL(se_forward_4, SEForwardArgs, SE_THREADS, 2) { se_forward<4>(a); }
KERNEL(se_forward_16, SEForwardArgs, SE_THREADS, 2) { se_forward<16>(a); }
KERNEL(se_backward_4, SEBackwardArgs, SE_THREADS, 2) { se_backward<4>(a); }
KERNEL(se_backward_16, SEBackwardArgs, SE_THREADS, 2) { se_backward<16>(a); }

#endif
