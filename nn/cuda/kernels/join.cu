// The end of a residual block, y = act(z*scale + shift + x), and its gradient.
// Both are bound by memory: 3 and 4 accesses of 16 bytes for each 16 bytes of z.
#include "boardrows.cuh"
#include "args.cuh"

// before_act is written once so that both directions round alike: the slope is
// that of the very value the activation took.
DEVICE float before_act(float z, float scale, float shift, float x) { return fmaf(z, scale, shift) + x; }

// affine_of reads the coefficients of a thread's channels.
template <class A, int N> DEVICE void affine_of(const A& a, const Place& p, float (&scale)[N], float (&shift)[N]) {
	uint64_t at = (a.by_board ? (uint64_t)p.board * a.padded : 0) + p.channel;
	load_floats(scale, a.scale + at);
	load_floats(shift, a.shift + at);
}

template <class T, int ACT> DEVICE void join_rows(const JoinArgs& a, const Place& p) {
	constexpr int N = Vec<T>::count, BATCH = 4;  // squares whose loads are in flight together
	float scale[N], shift[N];
	affine_of(a, p, scale, shift);
	const T *z = (const T*)a.z + p.first, *x = (const T*)a.x + p.first;
	T* y = (T*)a.y + p.first;
#pragma unroll 1
	for (int r = 0; r < LANE_ROWS; r += BATCH) {
		Vec<T> zv[BATCH], xv[BATCH];
#pragma unroll
		for (int i = 0; i < BATCH; i++) {
			zv[i] = load_vec(z + (r + i) * p.step);
			xv[i] = a.x ? load_vec(x + (r + i) * p.step) : zero_vec<T>();
		}
#pragma unroll
		for (int i = 0; i < BATCH; i++) {
			Vec<T> out;
#pragma unroll
			for (int c = 0; c < N; c++) {
				float v = before_act(to_float(zv[i].v[c]), scale[c], shift[c], to_float(xv[i].v[c]));
				out.v[c] = from_float<T>(activate(v, ACT));
			}
			store_vec(y + (r + i) * p.step, out);
		}
	}
}

template <class T> DEVICE void join(const JoinArgs& a) {
	Place p = place<T>(a.boards, a.padded, true);
	if (!p.valid) return;
	if (a.act == ACT_RELU) join_rows<T, ACT_RELU>(a, p);
	else if (a.act == ACT_MISH) join_rows<T, ACT_MISH>(a, p);
	else join_rows<T, ACT_NONE>(a, p);
}

// join_backward_rows writes d of a thread's squares and adds d and d*z to sum and sumz.
template <class T, int ACT, int N> DEVICE void join_backward_rows(const JoinBackwardArgs& a, const Place& p, float (&sum)[N], float (&sumz)[N]) {
	constexpr int BATCH = 2;
	float scale[N], shift[N];
	affine_of(a, p, scale, shift);
	const T *dy = (const T*)a.dy + p.first, *z = (const T*)a.z + p.first, *x = (const T*)a.x + p.first;
	T* d = (T*)a.d + p.first;
#pragma unroll 1
	for (int r = 0; r < LANE_ROWS; r += BATCH) {
		Vec<T> dv[BATCH], zv[BATCH], xv[BATCH];
#pragma unroll
		for (int i = 0; i < BATCH; i++) {
			dv[i] = load_vec(dy + (r + i) * p.step);
			zv[i] = load_vec(z + (r + i) * p.step);
			xv[i] = a.x ? load_vec(x + (r + i) * p.step) : zero_vec<T>();
		}
#pragma unroll
		for (int i = 0; i < BATCH; i++) {
#pragma unroll
			for (int c = 0; c < N; c++) {
				float zf = to_float(zv[i].v[c]), v = before_act(zf, scale[c], shift[c], to_float(xv[i].v[c]));
				T stored = from_float<T>(to_float(dv[i].v[c]) * activation_slope(v, ACT));
				sum[c] += to_float(stored);
				sumz[c] = fmaf(to_float(stored), zf, sumz[c]);
				dv[i].v[c] = stored;
			}
			store_vec(d + (r + i) * p.step, dv[i]);
		}
	}
}

// add_lanes adds the sums of the threads that share a board and channels, in order
// of y, and writes them to sums [boards][2][padded]. Every thread calls it.
template <class T, int N> DEVICE void add_lanes(float* sums, const Place& p, int boards, int padded, const float (&sum)[N], const float (&sumz)[N]) {
	float* part = (float*)shared_memory();  // [z][y][2][width]
	int width = blockDim.x * N, x = threadIdx.x * N;
	float* row = part + (threadIdx.z * ROW_LANES + threadIdx.y) * 2 * width;
#pragma unroll
	for (int c = 0; c < N; c += 4) {
		int at = N == 8 ? mixed(x + c) : x + c;
		*(float4*)(row + at) = make_float4(sum[c], sum[c + 1], sum[c + 2], sum[c + 3]);
		*(float4*)(row + width + at) = make_float4(sumz[c], sumz[c + 1], sumz[c + 2], sumz[c + 3]);
	}
	sync_threads();
	if (p.board >= boards) return;
	const float* of_board = part + threadIdx.z * ROW_LANES * 2 * width;
	for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < 2 * width; i += ROW_LANES * blockDim.x) {
		int which = i >= width, in_row = i - which * width, channel = blockIdx.y * width + in_row;
		int at = which * width + (N == 8 ? mixed(in_row) : in_row);
		if (channel >= padded) continue;
		float s = 0;
#pragma unroll
		for (int y = 0; y < ROW_LANES; y++) s += of_board[y * 2 * width + at];
		sums[((uint64_t)p.board * 2 + which) * padded + channel] = s;
	}
}

template <class T> DEVICE void join_backward(const JoinBackwardArgs& a) {
	float sum[Vec<T>::count] = {}, sumz[Vec<T>::count] = {};
	Place p = place<T>(a.boards, a.padded);
	if (p.valid) {
		if (a.act == ACT_RELU) join_backward_rows<T, ACT_RELU>(a, p, sum, sumz);
		else if (a.act == ACT_MISH) join_backward_rows<T, ACT_MISH>(a, p, sum, sumz);
		else join_backward_rows<T, ACT_NONE>(a, p, sum, sumz);
	}
	add_lanes<T>(a.sums, p, a.boards, a.padded, sum, sumz);
}

#ifdef F32
KERNEL(join_f32, JoinArgs, 256, 3) { join<float>(a); }
KERNEL(join_backward_f32, JoinBackwardArgs, 256, 2) { join_backward<float>(a); }
#endif
#ifdef HALF
KERNEL(join_bf16, JoinArgs, 256, 3) { join<bf16>(a); }
KERNEL(join_fp16, JoinArgs, 256, 3) { join<fp16>(a); }
KERNEL(join_backward_bf16, JoinBackwardArgs, 256, 2) { join_backward<bf16>(a); }
KERNEL(join_backward_fp16, JoinBackwardArgs, 256, 2) { join_backward<fp16>(a); }
#endif
