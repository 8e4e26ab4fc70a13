// Attention nets: what stands between their matrix products, which are conv_1's, each for three
// types. attention_backward.cu has the gradients.
#include "attention_tile.cuh"
#include "attention_args.cuh"
#include "attention_act.cuh"
#include "tower_softmax.cuh"

enum { MASKS = 104, MEN_PLANES = 12, EMBED_PLANES = 112 };

template <class T> DEVICE void men(const MenArgs& a) {
	const uint64_t* masks = a.masks + (int64_t)blockIdx.x * MASKS;
	T* y = (T*)a.y + (int64_t)blockIdx.x * 64 * MEN_PLANES;
	for (int i = threadIdx.x; i < 64 * MEN_PLANES; i += blockDim.x) y[i] = from_float<T>(masks[i % MEN_PLANES] >> (i / MEN_PLANES) & 1 ? 1.f : 0.f);
}

// embed: a warp a row.
template <class T> DEVICE void embed(const EmbedArgs& a) {
	int64_t row = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (row >= (int64_t)a.boards * 64) return;
	const T* planes = (const T*)a.planes + row * EMBED_PLANES;
	const T* said = (const T*)a.said + (a.by_board ? row : row % 64) * a.said_width;
	T* y = (T*)a.y + row * a.width;
	for (int c = threadIdx.x % WARP; c < a.width; c += WARP) {
		int s = c - EMBED_PLANES;
		y[c] = s < 0 ? planes[c] : s < a.said_width ? said[s] : from_float<T>(0.f);
	}
}

// layer_norm: a warp a row. Rows lie in the caches from the first pass on.
template <class T> DEVICE void layer_norm(const LayerNormArgs& a) {
	int64_t row = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (row >= a.rows) return;
	int lane = threadIdx.x % WARP, square = row % 64;
	LayerEnd<T> end(a, row);
	float mean = 0.f, factor = 1.f;
	if (a.gamma) {
		float sum = 0.f, squares = 0.f;
		for (int c = lane; c < a.real; c += WARP) sum += end.value(c);
		mean = warp_sum(sum) / a.real;
		for (int c = lane; c < a.real; c += WARP) {
			float d = end.value(c) - mean;
			squares = fmaf(d, d, squares);
		}
		factor = 1.f / sqrtf(warp_sum(squares) / a.real + a.epsilon);
	}
	Spread spread(a.real, a.group);
	T* y = (T*)a.y + row * spread.width;
	for (int at = lane; at < spread.width; at += WARP) {
		int c = spread.column(at);
		float v = c < 0 ? 0.f : end.value(c);
		if (a.gamma && c >= 0) v = fmaf((v - mean) * factor, a.gamma[c], a.beta[c]);
		if (a.mul && c >= 0) v = fmaf(v, a.mul[square * a.real + c], a.add[square * a.real + c]);
		y[at] = from_float<T>(v);
	}
}

// attend: a block a head of a board.
template <class T> DEVICE void attend(const AttendArgs& a) {
	enum { STRIDE = Tile<T>::STRIDE };
	int64_t board = blockIdx.y;
	int begin = blockIdx.x * a.depth, end = begin + a.depth, head = blockIdx.x;
	const T *q = (const T*)a.q + board * 64 * a.stride, *k = (const T*)a.k + board * 64 * a.stride, *v = (const T*)a.v + board * 64 * a.stride;
	T* y = (T*)a.y + board * 64 * a.width;
	T *left = (T*)shared_memory(), *right = left + 64 * STRIDE, *weights = right + 64 * STRIDE;  // [64][STRIDE] twice, [64][PAIRS]
	Tile<T> s;
	for (int at = begin; at < end; at += Tile<T>::COLUMNS) {
		sync_threads();
		load(left, q, a.stride, at, end);
		int columns = load(right, k, a.stride, at, end);
		sync_threads();
		s.add(left, right, columns);
	}
	softmax_rows(s, a.scale, a.extra ? (const T*)a.extra + (board * a.heads + head) * 64 * 64 : (const T*)0, weights);
	store(weights, s);  // a thread's own numbers
	for (int at = begin; at < end; at += Tile<T>::COLUMNS) {
		sync_threads();
		int columns = load(left, v, a.stride, at, end);
		sync_threads();
		Tile<T>::template times<false>(weights, left, columns, Columns<T>{y, a.width, at, end, 1.f});
	}
	if (head + 1 == a.heads) clear_columns(y, a.width, end);
}

// attention_policy: a block a board, a warp a move at a time.
template <class T> DEVICE void attention_policy(const AttentionPolicyArgs& a) {
	int64_t board = blockIdx.x;
	if (board >= *a.count) return;
	
	int begin = a.start[board], n = a.start[board + 1] - begin, lane = threadIdx.x % WARP;
	const T* qk = (const T*)a.qk + board * 64 * 2 * a.width;
	float* prior = a.prior + begin;
	for (int i = threadIdx.x / WARP; i < n; i += ATTENTION_THREADS / WARP) {
		int place = a.places[a.legal[begin + i]], from = place / 64, to = place % 64, piece = -1;
		if (place >= PROMOTIONS) {
			int promotion = place - PROMOTIONS;  // (8*file + file of the target)*3 + piece
			from = 48 + promotion / 24, to = 56 + promotion / 3 % 8, piece = promotion % 3;
		}
		const T *query = qk + (int64_t)from * 2 * a.width, *key = qk + (int64_t)to * 2 * a.width + a.width;
		const float* more = a.promotion + (int64_t)piece * a.width;
		float sum = 0.f;
		for (int c = lane; c < a.width; c += WARP) {
			float q = to_float(query[c]);
			if (piece >= 0) q += more[c];
			sum = fmaf(q, to_float(key[c]), sum);
		}
		sum = warp_sum(sum);
		if (lane == 0) prior[i] = sum;
	}
	sync_threads();
	if (threadIdx.x < WARP) softmax_moves(prior, n, [prior](int i) { return prior[i]; });
}

#ifdef F32
KERNEL(men_f32, MenArgs, 256, 4) { men<float>(a); }
KERNEL(embed_f32, EmbedArgs, 256, 4) { embed<float>(a); }
KERNEL(layer_norm_f32, LayerNormArgs, 256, 4) { layer_norm<float>(a); }
KERNEL(attend_f32, AttendArgs, ATTENTION_THREADS, 4) { attend<float>(a); }
KERNEL(attention_policy_f32, AttentionPolicyArgs, ATTENTION_THREADS, 4) { attention_policy<float>(a); }
#endif
#ifdef HALF
KERNEL(men_bf16, MenArgs, 256, 4) { men<bf16>(a); }
KERNEL(men_fp16, MenArgs, 256, 4) { men<fp16>(a); }
KERNEL(embed_bf16, EmbedArgs, 256, 4) { embed<bf16>(a); }
KERNEL(embed_fp16, EmbedArgs, 256, 4) { embed<fp16>(a); }
KERNEL(layer_norm_bf16, LayerNormArgs, 256, 4) { layer_norm<bf16>(a); }
KERNEL(layer_norm_fp16, LayerNormArgs, 256, 4) { layer_norm<fp16>(a); }
KERNEL(attend_bf16, AttendArgs, ATTENTION_THREADS, 4) { attend<bf16>(a); }
KERNEL(attend_fp16, AttendArgs, ATTENTION_THREADS, 4) { attend<fp16>(a); }
KERNEL(attention_policy_bf16, AttentionPolicyArgs, ATTENTION_THREADS, 4) { attention_policy<bf16>(a); }
KERNEL(attention_policy_fp16, AttentionPolicyArgs, ATTENTION_THREADS, 4) { attention_policy<fp16>(a); }
#endif
