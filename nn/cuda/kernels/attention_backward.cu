// The gradients of attention nets, but for those of their matrix products, and the scores of an
// attention policy in training; each for three types.
#include "attention_tile.cuh"
#include "attention_args.cuh"
#include "attention_act.cuh"

enum { NORM_ROWS = 64, EMBED_PLANES = 112 };

// layer_norm_backward: a block has NORM_ROWS rows. A warp a row finds what the row has in common,
// then a thread goes down a column.
template <class T> DEVICE void layer_norm_backward(const LayerNormBackwardArgs& a) {
	float* common = (float*)shared_memory();  // [NORM_ROWS][4]: mean, factor, mean of dn, mean of dn*n
	int64_t first = (int64_t)blockIdx.x * NORM_ROWS;
	int rows = imin(NORM_ROWS, a.rows - first), lane = threadIdx.x % WARP;
	Spread spread(a.real, a.group);
	const T* dy = (const T*)a.dy + first * spread.width;
	for (int r = threadIdx.x / WARP; a.gamma && r < rows; r += blockDim.x / WARP) {
		LayerEnd<T> end(a, first + r);
		float sum = 0.f, squares = 0.f, dn = 0.f, dnn = 0.f;
		for (int c = lane; c < a.real; c += WARP) sum += end.value(c);
		float mean = warp_sum(sum) / a.real;
		for (int c = lane; c < a.real; c += WARP) {
			float d = end.value(c) - mean, g = to_float(dy[(int64_t)r * spread.width + spread.place(c)]) * a.gamma[c];
			squares = fmaf(d, d, squares);
			dn += g;
			dnn = fmaf(g, d, dnn);
		}
		float factor = 1.f / sqrtf(warp_sum(squares) / a.real + a.epsilon);
		dn = warp_sum(dn) / a.real;
		dnn = warp_sum(dnn) / a.real * factor;
		if (lane < 4) common[r * 4 + lane] = lane == 0 ? mean : lane == 1 ? factor : lane == 2 ? dn : dnn;
	}
	sync_threads();
	for (int c = threadIdx.x; c < a.width; c += blockDim.x) {
		float dgamma = 0.f, dbeta = 0.f, gamma = a.gamma && c < a.real ? a.gamma[c] : 0.f;
		for (int r = 0; r < rows; r++) {
			int64_t at = (first + r) * a.width + c;
			float d = 0.f, slope = 0.f;
			if (c < a.real) {
				LayerEnd<T> end(a, first + r);
				d = to_float(dy[(int64_t)r * spread.width + spread.place(c)]);
				slope = a.scale * inner_slope(to_float(end.x[c]), a.act);
				if (a.gamma) {
					const float* row = common + r * 4;
					float n = (end.value(c) - row[0]) * row[1];
					dgamma = fmaf(d, n, dgamma);
					dbeta += d;
					d = (d * gamma - row[2] - n * row[3]) * row[1];
				}
			}
			if (a.dskip) ((T*)a.dskip)[at] = from_float<T>(d);
			((T*)a.dx)[at] = from_float<T>(d * slope);
		}
		if (!a.sums) continue;
		float* sums = a.sums + (int64_t)blockIdx.x * 2 * a.width + c;
		sums[0] = dgamma;
		sums[a.width] = dbeta;
	}
}

// gate_backward: a thread has a column of a square on all boards.
template <class T> DEVICE void gate_backward(const GateBackwardArgs& a) {
	int c = blockIdx.x * blockDim.x + threadIdx.x, square = blockIdx.y;
	if (c >= a.width) return;
	bool real = c < a.real;
	float mul = real ? a.mul[square * a.real + c] : 0.f, dmul = 0.f, dadd = 0.f;
	for (int b = 0; b < a.boards; b++) {
		int64_t at = ((int64_t)b * 64 + square) * a.width + c;
		float d = to_float(((const T*)a.dy)[at]);
		dadd += d;
		dmul = fmaf(d, to_float(((const T*)a.x)[at]), dmul);
		((T*)a.dx)[at] = from_float<T>(d * mul);
	}
	if (!real) return;
	int at = square * a.real + c;
	a.dmul[at] = (a.accumulate ? a.dmul[at] : 0.f) + dmul;
	a.dadd[at] = (a.accumulate ? a.dadd[at] : 0.f) + dadd;
}

template <class T> DEVICE void said_gradient(const SaidGradientArgs& a) {
	int64_t row = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (row >= (int64_t)a.boards * 64) return;
	for (int c = threadIdx.x % WARP; c < a.said_width; c += WARP) ((T*)a.dsaid)[row * a.said_width + c] = ((const T*)a.dy)[row * a.width + EMBED_PLANES + c];
}

// attend_backward: a block a head of a board. The weights are computed again.
template <class T> DEVICE void attend_backward(const AttendBackwardArgs& a) {
	enum { STRIDE = Tile<T>::STRIDE, PAIRS = Tile<T>::PAIRS };
	int64_t board = (int64_t)blockIdx.y * 64 * a.width, pairs = ((int64_t)blockIdx.y * a.heads + blockIdx.x) * 64 * 64;
	int begin = blockIdx.x * a.depth, end = begin + a.depth;
	const T *q = (const T*)a.q + board, *k = (const T*)a.k + board, *v = (const T*)a.v + board, *dy = (const T*)a.dy + board;
	T *dq = (T*)a.dq + board, *dk = (T*)a.dk + board, *dv = (T*)a.dv + board;
	T *x0 = (T*)shared_memory(), *x1 = x0 + 64 * STRIDE, *x2 = x1 + 64 * STRIDE, *weights = x2 + 64 * STRIDE, *slopes = weights + 64 * PAIRS;
	Tile<T> s, d;
	for (int at = begin; at < end; at += Tile<T>::COLUMNS) {
		sync_threads();
		load(x0, q, a.width, at, end);
		int columns = load(x1, k, a.width, at, end);
		sync_threads();
		s.add(x0, x1, columns);
		sync_threads();
		load(x0, dy, a.width, at, end);
		load(x1, v, a.width, at, end);
		sync_threads();
		d.add(x0, x1, columns);
	}
	softmax_rows(s, a.scale, a.extra ? (const T*)a.extra + pairs : (const T*)0, weights);
#pragma unroll
	for (int r = 0; r < Tile<T>::ROWS; r++) {
		float sum = 0.f;
#pragma unroll
		for (int j = 0; j < Tile<T>::PER; j++) sum = fmaf(s.at(r, j), d.at(r, j), sum);
		sum = row_sum<T>(sum);
#pragma unroll
		for (int j = 0; j < Tile<T>::PER; j++) d.at(r, j) = s.at(r, j) * (d.at(r, j) - sum);
	}
	store(weights, s);  // a thread's own numbers
	store(slopes, d);
	sync_threads();
	if (a.dextra) copy_out((T*)a.dextra + pairs, slopes);
	for (int at = begin; at < end; at += Tile<T>::COLUMNS) {
		sync_threads();
		load(x0, q, a.width, at, end);
		load(x1, k, a.width, at, end);
		int columns = load(x2, dy, a.width, at, end);
		sync_threads();
		Tile<T>::template times<false>(slopes, x1, columns, Columns<T>{dq, a.width, at, end, a.scale});
		Tile<T>::template times<true>(slopes, x0, columns, Columns<T>{dk, a.width, at, end, a.scale});
		Tile<T>::template times<true>(weights, x2, columns, Columns<T>{dv, a.width, at, end, 1.f});
	}
	if (blockIdx.x + 1 < (unsigned)a.heads) return;
	clear_columns(dq, a.width, end);
	clear_columns(dk, a.width, end);
	clear_columns(dv, a.width, end);
}

// each_promotion calls f(place, from, to, piece) for a thread's share of the promotions that
// there are.
template <class F> DEVICE void each_promotion(F f) {
	for (int i = threadIdx.x; i < ATTENTION_LOGITS - PROMOTIONS; i += ATTENTION_THREADS) {
		int file = i / 24, target = i / 3 % 8;
		if (target - file <= 1 && file - target <= 1) f(PROMOTIONS + i, 48 + file, 56 + target, i % 3);
	}
}

// attention_logits: a block a board.
template <class T> DEVICE void attention_logits(const AttentionLogitsArgs& a) {
	int64_t board = blockIdx.x;
	const T *q = (const T*)a.q + board * 64 * a.width, *k = (const T*)a.k + board * 64 * a.width;
	const float* more = a.more + board * 64 * 16;
	float* y = a.y + board * ATTENTION_LOGITS;
	T *left = (T*)shared_memory(), *right = left + 64 * Tile<T>::STRIDE;
	Tile<T> s;
	for (int at = 0; at < a.width; at += Tile<T>::COLUMNS) {
		sync_threads();
		load(left, q, a.width, at, a.width);
		int columns = load(right, k, a.width, at, a.width);
		sync_threads();
		s.add(left, right, columns);
	}
#pragma unroll
	for (int r = 0; r < Tile<T>::ROWS; r++)
#pragma unroll
		for (int j = 0; j < Tile<T>::PER; j++) y[s.row(r) * 64 + s.column(j)] = a.scale * s.at(r, j);
	sync_threads();
	each_promotion([&](int place, int from, int to, int piece) { y[place] = y[from * 64 + to] + more[to * 16 + piece] + more[to * 16 + 3]; });
}

// attention_logits_backward: a block a board.
template <class T> DEVICE void attention_logits_backward(const AttentionLogitsBackwardArgs& a) {
	enum { STRIDE = Tile<T>::STRIDE, PAIRS = Tile<T>::PAIRS };
	int64_t board = blockIdx.x;
	const T *q = (const T*)a.q + board * 64 * a.width, *k = (const T*)a.k + board * 64 * a.width, *dy = (const T*)a.dy + board * ATTENTION_LOGITS;
	T *dq = (T*)a.dq + board * 64 * a.width, *dk = (T*)a.dk + board * 64 * a.width, *dmore = (T*)a.dmore + board * 64 * 16;
	T *x0 = (T*)shared_memory(), *x1 = x0 + 64 * STRIDE, *slopes = x1 + 64 * STRIDE;
	for (int i = threadIdx.x; i < PROMOTIONS; i += ATTENTION_THREADS) slopes[i / 64 * PAIRS + i % 64] = dy[i];
	sync_threads();
	// Each pair of squares has three promotions, which one thread adds.
	for (int i = threadIdx.x; i < 64; i += ATTENTION_THREADS) {
		int file = i / 8, target = i % 8;
		if (target - file > 1 || file - target > 1) continue;
		T& slope = slopes[(48 + file) * PAIRS + 56 + target];
		float sum = to_float(slope);
		for (int piece = 0; piece < 3; piece++) sum += to_float(dy[PROMOTIONS + i * 3 + piece]);
		slope = from_float<T>(sum);
	}
	for (int i = threadIdx.x; i < 64 * 16; i += ATTENTION_THREADS) {
		int to = i / 16, piece = i % 16, target = to - 56;
		float sum = 0.f;
		for (int file = 0; target >= 0 && piece < 4 && file < 8; file++) {
			if (target - file > 1 || file - target > 1) continue;
			const T* d = dy + PROMOTIONS + (8 * file + target) * 3;
			sum += piece < 3 ? to_float(d[piece]) : to_float(d[0]) + to_float(d[1]) + to_float(d[2]);
		}
		dmore[i] = from_float<T>(sum);
	}
	for (int at = 0; at < a.width; at += Tile<T>::COLUMNS) {
		sync_threads();
		load(x0, q, a.width, at, a.width);
		int columns = load(x1, k, a.width, at, a.width);
		sync_threads();
		Tile<T>::template times<false>(slopes, x1, columns, Columns<T>{dq, a.width, at, a.width, a.scale});
		Tile<T>::template times<true>(slopes, x0, columns, Columns<T>{dk, a.width, at, a.width, a.scale});
	}
}

#ifdef F32
KERNEL(layer_norm_backward_f32, LayerNormBackwardArgs, 256, 4) { layer_norm_backward<float>(a); }
KERNEL(gate_backward_f32, GateBackwardArgs, 64, 16) { gate_backward<float>(a); }
KERNEL(said_gradient_f32, SaidGradientArgs, 256, 4) { said_gradient<float>(a); }
KERNEL(attend_backward_f32, AttendBackwardArgs, ATTENTION_THREADS, 2) { attend_backward<float>(a); }
KERNEL(attention_logits_f32, AttentionLogitsArgs, ATTENTION_THREADS, 4) { attention_logits<float>(a); }
KERNEL(attention_logits_backward_f32, AttentionLogitsBackwardArgs, ATTENTION_THREADS, 4) { attention_logits_backward<float>(a); }
#endif
#ifdef HALF
KERNEL(layer_norm_backward_bf16, LayerNormBackwardArgs, 256, 4) { layer_norm_backward<bf16>(a); }
KERNEL(layer_norm_backward_fp16, LayerNormBackwardArgs, 256, 4) { layer_norm_backward<fp16>(a); }
KERNEL(gate_backward_bf16, GateBackwardArgs, 64, 16) { gate_backward<bf16>(a); }
KERNEL(gate_backward_fp16, GateBackwardArgs, 64, 16) { gate_backward<fp16>(a); }
KERNEL(said_gradient_bf16, SaidGradientArgs, 256, 4) { said_gradient<bf16>(a); }
KERNEL(said_gradient_fp16, SaidGradientArgs, 256, 4) { said_gradient<fp16>(a); }
KERNEL(attend_backward_bf16, AttendBackwardArgs, ATTENTION_THREADS, 3) { attend_backward<bf16>(a); }
KERNEL(attend_backward_fp16, AttendBackwardArgs, ATTENTION_THREADS, 3) { attend_backward<fp16>(a); }
KERNEL(attention_logits_bf16, AttentionLogitsArgs, ATTENTION_THREADS, 4) { attention_logits<bf16>(a); }
KERNEL(attention_logits_fp16, AttentionLogitsArgs, ATTENTION_THREADS, 4) { attention_logits<fp16>(a); }
KERNEL(attention_logits_backward_bf16, AttentionLogitsBackwardArgs, ATTENTION_THREADS, 4) { attention_logits_backward<bf16>(a); }
KERNEL(attention_logits_backward_fp16, AttentionLogitsBackwardArgs, ATTENTION_THREADS, 4) { attention_logits_backward<fp16>(a); }
#endif
