// Attention nets: what stands between their matrix products, which are conv_1's. men,
// embed, layer_norm, attend and attention_policy, each for three types.
#include "device.cuh"
#include "attention_args.cuh"
#include "tower_softmax.cuh"

enum { MASKS = 104, MEN_PLANES = 12, EMBED_PLANES = 112, ATTENTION_THREADS = 128, CHUNK = 64, ACT_RELU2 = 3, ACT_SWISH = 4, ACT_SELU = 5 };

// activate_inner has the activations of layers inside encoders, too.
DEVICE float activate_inner(float x, int act) {
	if (act == ACT_RELU2) return x > 0.f || x != x ? x * x : 0.f;
	if (act == ACT_SWISH) return x / (1.f + expf(-x));
	if (act == ACT_SELU) return 1.05070098f * (x > 0.f ? x : 1.67326324f * (expf(x) - 1.f));
	return activate(x, act);
}

// warp_sum adds up over a warp; all lanes have the sum.
DEVICE float warp_sum(float v) {
	for (int mask = 1; mask < WARP; mask *= 2) v += shuffle_xor(v, mask);
	return v;
}

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
	int lane = threadIdx.x % WARP;
	const T *x = (const T*)a.x + row * a.width, *skip = (const T*)a.skip + row * a.width;
	T* y = (T*)a.y + row * a.width;
	auto value = [&](int c) {
		float v = a.scale * activate_inner(to_float(x[c]), a.act);
		return a.skip ? v + to_float(skip[c]) : v;
	};
	float mean = 0.f, factor = 1.f;
	if (a.gamma) {
		float sum = 0.f, squares = 0.f, count = (float)(a.width / a.group * a.real);
		for (int c = lane; c < a.width; c += WARP) sum += value(c);  // padding is 0
		mean = warp_sum(sum) / count;
		for (int c = lane; c < a.width; c += WARP) {
			float d = value(c) - mean;
			if (c % a.group < a.real) squares = fmaf(d, d, squares);
		}
		factor = 1.f / sqrtf(warp_sum(squares) / count + a.epsilon);
	}
	const float *mul = a.mul + row % 64 * a.width, *add = a.add + row % 64 * a.width;
	for (int c = lane; c < a.width; c += WARP) {
		float v = value(c);
		if (a.gamma) v = fmaf((v - mean) * factor, a.gamma[c], a.beta[c]);
		if (a.mul) v = fmaf(v, mul[c], add[c]);
		y[c] = from_float<T>(v);
	}
}

// AttendHead is where one head of one board lies.
template <class T> struct AttendHead {
	const T *qkv, *extra;
	T* y;
	int depth, stride, width;

	DEVICE explicit AttendHead(const AttendArgs& a) : depth(a.depth), stride(3 * a.width), width(a.width) {
		int64_t board = blockIdx.y;
		int column = blockIdx.x * a.depth;
		qkv = (const T*)a.qkv + board * 64 * stride + column;
		extra = a.extra ? (const T*)a.extra + (board * a.heads + blockIdx.x) * 64 * 64 : nullptr;
		y = (T*)a.y + board * 64 * a.width + column;
		if (blockIdx.x + 1 < (unsigned)a.heads) return;
		int used = a.heads * a.depth, rest = a.width - used;  // the last head clears what is past it
		for (int i = threadIdx.x; i < 64 * rest; i += blockDim.x) y[(int64_t)(i / rest) * a.width + a.depth + i % rest] = from_float<T>(0.f);
	}

	// load copies columns first.. of one of the three parts to shared memory, [64][row], with
	// zeros past the head.
	template <int COLUMNS> DEVICE void load(T* shared, int row, int part, int first) const {
		const T* from = qkv + part * width + first;
		for (int i = threadIdx.x; i < 64 * COLUMNS; i += ATTENTION_THREADS) {
			int r = i / COLUMNS, c = i % COLUMNS;
			shared[r * row + c] = first + c < depth ? from[(int64_t)r * stride + c] : from_float<T>(0.f);
		}
	}
};

#ifdef F32
// attend_float: a thread has 4 queries and every eighth key or column.
DEVICE void attend_float(const AttendArgs& a) {
	enum { COLUMNS = 32, ROW = COLUMNS + 1, PAIRS = 64 + 1 };
	AttendHead<float> head(a);
	float *left = (float*)shared_memory(), *right = left + 64 * ROW, *p = right + 64 * ROW;  // [64][ROW] twice, [64][PAIRS]
	int first = threadIdx.x / 8 * 4, lane = threadIdx.x % 8;
	float s[4][8] = {};
	for (int at = 0; at < a.depth; at += COLUMNS) {
		sync_threads();
		head.load<COLUMNS>(left, ROW, 0, at);
		head.load<COLUMNS>(right, ROW, 1, at);
		sync_threads();
		for (int c = 0; c < COLUMNS; c++)
#pragma unroll
			for (int i = 0; i < 4; i++)
#pragma unroll
				for (int j = 0; j < 8; j++) s[i][j] = fmaf(left[(first + i) * ROW + c], right[(lane + 8 * j) * ROW + c], s[i][j]);
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
		float top = -3.4e38f, sum = 0.f;
#pragma unroll
		for (int j = 0; j < 8; j++) {
			if (head.extra) s[i][j] += head.extra[(first + i) * 64 + lane + 8 * j];
			top = fmaxf(top, s[i][j]);
		}
		for (int mask = 1; mask < 8; mask *= 2) top = fmaxf(top, shuffle_xor(top, mask));
#pragma unroll
		for (int j = 0; j < 8; j++) sum += s[i][j] = expf(s[i][j] - top);
		for (int mask = 1; mask < 8; mask *= 2) sum += shuffle_xor(sum, mask);
#pragma unroll
		for (int j = 0; j < 8; j++) p[(first + i) * PAIRS + lane + 8 * j] = s[i][j] / sum;
	}
	for (int at = 0; at < a.depth; at += COLUMNS) {
		sync_threads();
		head.load<COLUMNS>(left, ROW, 2, at);
		sync_threads();
		float y[4][COLUMNS / 8] = {};
		for (int k = 0; k < 64; k++)
#pragma unroll
			for (int i = 0; i < 4; i++)
#pragma unroll
				for (int j = 0; j < COLUMNS / 8; j++) y[i][j] = fmaf(p[(first + i) * PAIRS + k], left[k * ROW + lane + 8 * j], y[i][j]);
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int j = 0; j < COLUMNS / 8; j++)
				if (at + lane + 8 * j < a.depth) head.y[(first + i) * a.width + at + lane + 8 * j] = y[i][j];
	}
}
#endif

#ifdef HALF
// pair packs two numbers as mma reads them, the first in the low half.
template <class T> DEVICE uint32_t pair(float low, float high) {
	return (uint32_t)from_float<T>(low).bits | (uint32_t)from_float<T>(high).bits << 16;
}

// attend_half: a warp has 16 queries. Their products with all keys stay in registers, and
// are the left operand of the products with values as they lie there.
template <class T> DEVICE void attend_half(const AttendArgs& a) {
	enum { ROW = CHUNK + 8 };
	AttendHead<T> head(a);
	T *left = (T*)shared_memory(), *right = left + 64 * ROW;  // [64][ROW] each
	int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, first = threadIdx.x / WARP * 16;
	int row = lane % 8, matrix = lane / 8;  // whose address a lane gives to load_matrix
	float s[8][4] = {};                     // queries g and g+8; keys 8n+2t and the next
	for (int at = 0; at < a.depth; at += CHUNK) {
		sync_threads();
		head.template load<CHUNK>(left, ROW, 0, at);
		head.template load<CHUNK>(right, ROW, 1, at);
		sync_threads();
		for (int k = 0; k < CHUNK && at + k < a.depth; k += 16) {
			uint32_t q[4];
			load_matrix_x4(q, left + (first + matrix % 2 * 8 + row) * ROW + k + matrix / 2 * 8);
#pragma unroll
			for (int n = 0; n < 8; n += 2) {
				uint32_t r[4];
				load_matrix_x4(r, right + (n * 8 + matrix / 2 * 8 + row) * ROW + k + matrix % 2 * 8);
				uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
				mma<T>(s[n], q, b0);
				mma<T>(s[n + 1], q, b1);
			}
		}
	}
	float scale[2];
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const T* extra = head.extra + (first + half * 8 + g) * 64 + 2 * t;
		float top = -3.4e38f, sum = 0.f;
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int i = 2 * half; i < 2 * half + 2; i++) {
				if (head.extra) s[n][i] += to_float(extra[8 * n + i % 2]);
				top = fmaxf(top, s[n][i]);
			}
		for (int mask = 1; mask < 4; mask *= 2) top = fmaxf(top, shuffle_xor(top, mask));
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int i = 2 * half; i < 2 * half + 2; i++) sum += s[n][i] = expf(s[n][i] - top);
		for (int mask = 1; mask < 4; mask *= 2) sum += shuffle_xor(sum, mask);
		scale[half] = 1.f / sum;
	}
	uint32_t p[4][4];
#pragma unroll
	for (int k = 0; k < 4; k++)
#pragma unroll
		for (int i = 0; i < 4; i++) p[k][i] = pair<T>(s[2 * k + i / 2][i % 2 * 2], s[2 * k + i / 2][i % 2 * 2 + 1]);
	for (int at = 0; at < a.depth; at += CHUNK) {
		sync_threads();
		head.template load<CHUNK>(left, ROW, 2, at);
		sync_threads();
		for (int n = 0; n < CHUNK && at + n < a.depth; n += 16) {
			float y[2][4] = {};
#pragma unroll
			for (int k = 0; k < 4; k++) {
				uint32_t r[4];
				load_matrix_x4_trans(r, left + (k * 16 + matrix % 2 * 8 + row) * ROW + n + matrix / 2 * 8);
				uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
				mma<T>(y[0], p[k], b0);
				mma<T>(y[1], p[k], b1);
			}
#pragma unroll
			for (int i = 0; i < 8; i++) {
				int c = at + n + i / 4 * 8 + 2 * t + i % 2, half = i / 2 % 2;
				if (c < a.depth) head.y[(first + half * 8 + g) * a.width + c] = from_float<T>(y[i / 4][i % 4] * scale[half]);
			}
		}
	}
}
#endif

// attention_policy: a block a board, a warp a move at a time.
template <class T> DEVICE void attention_policy(const AttentionPolicyArgs& a) {
	int64_t board = blockIdx.x;
	if (board >= *a.count) return;
	enum { PROMOTIONS = 64 * 64 };
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
KERNEL(attend_f32, AttendArgs, ATTENTION_THREADS, 2) { attend_float(a); }
KERNEL(attention_policy_f32, AttentionPolicyArgs, ATTENTION_THREADS, 4) { attention_policy<float>(a); }
#endif
#ifdef HALF
KERNEL(men_bf16, MenArgs, 256, 4) { men<bf16>(a); }
KERNEL(men_fp16, MenArgs, 256, 4) { men<fp16>(a); }
KERNEL(embed_bf16, EmbedArgs, 256, 4) { embed<bf16>(a); }
KERNEL(embed_fp16, EmbedArgs, 256, 4) { embed<fp16>(a); }
KERNEL(layer_norm_bf16, LayerNormArgs, 256, 4) { layer_norm<bf16>(a); }
KERNEL(layer_norm_fp16, LayerNormArgs, 256, 4) { layer_norm<fp16>(a); }
KERNEL(attend_bf16, AttendArgs, ATTENTION_THREADS, 4) { attend_half<bf16>(a); }
KERNEL(attend_fp16, AttendArgs, ATTENTION_THREADS, 4) { attend_half<fp16>(a); }
KERNEL(attention_policy_bf16, AttentionPolicyArgs, ATTENTION_THREADS, 4) { attention_policy<bf16>(a); }
KERNEL(attention_policy_fp16, AttentionPolicyArgs, ATTENTION_THREADS, 4) { attention_policy<fp16>(a); }
#endif
