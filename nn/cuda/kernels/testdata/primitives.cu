// Kernels that show the primitives one by one, and the mistakes that the emulator finds.
#include "device.cuh"

struct MemoryArgs {
	const void* in;
	void* out;
	int n, mode;
};

// The threads of the block, each with its place.
KERNEL(test_places, MemoryArgs, 1024, 1) {
	int* out = (int*)a.out;
	int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	int threads = blockDim.x * blockDim.y * blockDim.z;
	int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	out[block * threads + thread] = block * 10000 + threadIdx.x + 100 * threadIdx.y + 1000 * threadIdx.z;
}

// Every float to T.
template <class T> DEVICE void narrow(const MemoryArgs& a) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < a.n) ((T*)a.out)[i] = from_float<T>(((const float*)a.in)[i]);
}
template <class T> DEVICE void widen(const MemoryArgs& a) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < a.n) ((float*)a.out)[i] = to_float(((const T*)a.in)[i]);
}

// Sums of rotated blocks: reads what other threads wrote to shared memory, with or
// (mode 1) without the barrier.
KERNEL(test_barrier, MemoryArgs, 1024, 1) {
	float* s = (float*)shared_memory();
	int t = threadIdx.x, n = blockDim.x;
	s[t] = ((const float*)a.in)[t];
	if (a.mode == 0) sync_threads();
	((float*)a.out)[t] = s[(t + n / 2) % n];
}

// Threads from a.n on leave; the others meet twice.
KERNEL(test_return, MemoryArgs, 1024, 1) {
	float* s = (float*)shared_memory();
	int t = threadIdx.x;
	if (t >= a.n) return;
	s[t] = (float)t;
	sync_threads();
	float v = s[a.n - 1 - t];
	sync_threads();
	((float*)a.out)[t] = v;
}

// Wrong in one way a mode.
KERNEL(test_wrong, MemoryArgs, 256, 1) {
	int t = threadIdx.x;
	volatile float* in = (volatile float*)a.in;
	float* s = (float*)shared_memory();
	switch (a.mode) {
	case 0:  // half a warp at another barrier
		if (t % 2) sync_threads();
		else sync_threads();
		break;
	case 1:  // one warp at another barrier
		if (t < 32) sync_threads();
		else sync_threads();
		break;
	case 2:  // a lane does not come
		if (t != 5) sync_warp();
		break;
	case 3:  // lanes at a shuffle and a barrier
		if (t % 32 < 3) sync_threads();
		else ((float*)a.out)[t] = shuffle(1.f, 0);
		break;
	case 4: in[a.n + t] = 1.f; break;            // past the end of global memory, far enough to fault
	case 5: s[blockDim.x + t + 32] = 1.f; break;  // past the end of shared memory
	case 6: s[blockDim.x] = 1.f; break;           // in the slack of shared memory
	case 7: in[a.n] = 1.f; break;                 // in the slack of global memory
	case 8: *(volatile int*)0 = t; break;
	case 9: {
		uint32_t r[4];
		load_matrix_x4(r, (char*)s + 2 * t);  // not aligned
		break;
	}
	case 10: {
		uint32_t r[4];
		load_matrix_x4(r, a.in);  // not shared
		break;
	}
	case 11: copy_async16(s, (const char*)a.in + 4, true); break;
	case 12: ((float4*)a.out)[t] = *(const float4*)((const float*)a.in + 2); break;
	}
}

KERNEL(test_shuffle, MemoryArgs, 256, 1) {
	int t = threadIdx.x;
	float v = ((const float*)a.in)[t];
	float* out = (float*)a.out + 6 * t;
	for (int i = 0; i < 5; i++) out[i] = shuffle_xor(v, 1 << i);
	out[5] = (float)shuffle((double)v, (t * 7 + 3) % 32);
}

// a.mode copies of 16 bytes a thread, each a group; waits until all but 2 are done
// (or not at all, n 1), and shows all of them.
KERNEL(test_copy, MemoryArgs, 64, 1) {
	int t = threadIdx.x, threads = blockDim.x;
	uint4* s = (uint4*)shared_memory();
	for (int i = 0; i < a.mode; i++) {
		copy_async16(&s[i * threads + t], (const uint4*)a.in + i * threads + t, i != 1);
		commit_async();
	}
	if (a.n == 0) wait_async<2>();
	for (int i = 0; i < a.mode; i++) ((uint4*)a.out)[i * threads + t] = s[i * threads + t];
	wait_async<0>();
	sync_threads();
	// other threads' copies, all of them now
	for (int i = 0; i < a.mode; i++) ((uint4*)a.out)[(a.mode + i) * threads + t] = s[i * threads + threads - 1 - t];
}

// ldmatrix of 32 rows of 16 bytes: the registers of every lane, plain and transposed.
KERNEL(test_load_matrix, MemoryArgs, 32, 1) {
	int t = threadIdx.x;
	uint4* s = (uint4*)shared_memory();
	s[t] = ((const uint4*)a.in)[t];
	sync_warp();
	uint32_t r[4];
	load_matrix_x4(r, &s[t]);
	for (int i = 0; i < 4; i++) ((uint32_t*)a.out)[t * 8 + i] = r[i];
	load_matrix_x4_trans(r, &s[t]);
	for (int i = 0; i < 4; i++) ((uint32_t*)a.out)[t * 8 + 4 + i] = r[i];
}

// mma on given fragments: in holds a lane's 4 + 2 words, then its 4 sums; n times.
template <class T> DEVICE void fragments(const MemoryArgs& args) {
	int t = threadIdx.x % 32;
	const uint32_t* in = (const uint32_t*)args.in + t * 10;
	uint32_t a[4], b[2];
	float d[4];
	for (int i = 0; i < 4; i++) a[i] = in[i];
	for (int i = 0; i < 2; i++) b[i] = in[4 + i];
	for (int i = 0; i < 4; i++) d[i] = __uint_as_float(in[6 + i]);
	for (int k = 0; k < args.n; k++) mma<T>(d, a, b);
	for (int i = 0; i < 4; i++) ((float*)args.out)[threadIdx.x * 4 + i] = d[i];
}

// A 16x8 product over k = a.n, rows of A and columns of B contiguous along k, as the
// kernels do it: through shared memory and ldmatrix. in: A [16][n], then B [8][n].
template <class T> DEVICE void product(const MemoryArgs& args) {
	int t = threadIdx.x;
	T* s = (T*)shared_memory();
	float d[4] = {0, 0, 0, 0};
	for (int k = 0; k < args.n; k += 16) {
		if (t < 24)
			for (int c = 0; c < 2; c++) copy_async16(s + t * 24 + c * 8, (const T*)args.in + t * args.n + k + c * 8, true);
		commit_async();
		wait_async<0>();
		sync_warp();
		uint32_t a[4], b[4];
		load_matrix_x4(a, s + t % 16 * 24 + t / 16 * 8);
		load_matrix_x4(b, s + (16 + t % 8) * 24 + t / 8 % 2 * 8);
		uint32_t b2[2] = {b[0], b[1]};
		mma<T>(d, a, b2);
		sync_warp();
	}
	for (int i = 0; i < 4; i++) ((float*)args.out)[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];
}

#define EACH(T)                                                        \
	KERNEL(test_narrow_##T, MemoryArgs, 256, 1) { narrow<T>(a); }        \
	KERNEL(test_widen_##T, MemoryArgs, 256, 1) { widen<T>(a); }          \
	KERNEL(test_fragments_##T, MemoryArgs, 256, 1) { fragments<T>(a); }  \
	KERNEL(test_product_##T, MemoryArgs, 32, 1) { product<T>(a); }
EACH(bf16)
EACH(fp16)

// in plus 1, n floats, by one thread.
KERNEL(test_add, MemoryArgs, 32, 1) {
	for (int i = 0; i < a.n; i++) ((float*)a.out)[i] = ((const float*)a.in)[i] + 1.f;
}

// n rounds of nothing but switches.
KERNEL(test_switch, MemoryArgs, 256, 1) {
	for (int i = 0; i < a.n; i++) sync_warp();
}
