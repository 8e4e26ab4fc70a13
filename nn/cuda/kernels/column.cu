// Sums of columns over all rows: the gradients of biases.
#include "boardrows.cuh"
#include "args.cuh"

enum { COLUMN_THREADS = 1024, COLUMN_COUNT = 8 };

// column_sums is the kernel: a block has COLUMN_COUNT columns, a thread of it every
// COLUMN_THREADS-th row. The order of additions depends on the rows' number alone.
template <class T> DEVICE void column_sums(const ColumnSumsArgs& a) {
	constexpr int count = Vec<T>::count;
	int column = blockIdx.x * COLUMN_COUNT, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
	const T* x = (const T*)a.x + column;
	float sum[COLUMN_COUNT] = {};
#pragma unroll 8
	for (int r = threadIdx.x; r < a.rows; r += COLUMN_THREADS) {
#pragma unroll
		for (int j = 0; j < COLUMN_COUNT; j += count) {
			Vec<T> v = load_vec(x + (int64_t)r * a.columns + j);
#pragma unroll
			for (int i = 0; i < count; i++) sum[j + i] += to_float(v.v[i]);
		}
	}
	float* sums = (float*)shared_memory();  // [COLUMN_THREADS/WARP][COLUMN_COUNT]
#pragma unroll
	for (int j = 0; j < COLUMN_COUNT; j++) {
		for (int mask = WARP / 2; mask > 0; mask /= 2) sum[j] += shuffle_xor(sum[j], mask);
		if (lane == 0) sums[warp * COLUMN_COUNT + j] = sum[j];
	}
	sync_threads();
	int o = column + threadIdx.x;
	if (threadIdx.x >= COLUMN_COUNT || o >= a.real) return;
	float total = a.accumulate ? a.sum[o] : 0.f;
	for (int w = 0; w < COLUMN_THREADS / WARP; w++) total += sums[w * COLUMN_COUNT + threadIdx.x];
	a.sum[o] = total;
}

#ifdef F32
KERNEL(column_sums_f32, ColumnSumsArgs, COLUMN_THREADS, 1) { column_sums<float>(a); }
#endif
#ifdef HALF
KERNEL(column_sums_bf16, ColumnSumsArgs, COLUMN_THREADS, 1) { column_sums<bf16>(a); }
KERNEL(column_sums_fp16, ColumnSumsArgs, COLUMN_THREADS, 1) { column_sums<fp16>(a); }
#endif
