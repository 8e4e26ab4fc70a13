// What device.cuh gives on a GPU, for a host compiler: CUDA's words as far as the
// kernels use them, and the primitives as calls into the emulator's runtime
// (internal/testing/emulated/runtime), where every CUDA thread is a fiber. Primitives take
// their place in the source as a hidden argument, so that threads which wait at
// different places are told apart, and named.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DEVICE inline __attribute__((always_inline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __constant__ static const
#define EMULATED_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

#ifdef __SANITIZE_THREAD__
#define EMULATED_CHECKED true
#elif defined(__has_feature)
#define EMULATED_CHECKED __has_feature(thread_sanitizer)
#else
#define EMULATED_CHECKED false
#endif

// KERNEL exports name as an emulated::Kernel. The name is expanded first, as nvcc does.
#define KERNEL(name, Args, threads, blocks) EMULATED_KERNEL(name, Args, threads)
#define EMULATED_KERNEL(name, Args, threads)                                        \
	static void name##_body(const Args a);                                            \
	static void name##_run(const void* a) { name##_body(*(const Args*)a); }           \
	extern "C" __attribute__((visibility("default"))) emulated::Kernel name;          \
	emulated::Kernel name = {#name, sizeof(Args), threads, &name##_run, EMULATED_CHECKED}; \
	static void name##_body(const Args a)

struct uint2 { uint32_t x, y; } __attribute__((aligned(8)));
struct int2 { int x, y; } __attribute__((aligned(8)));
struct float2 { float x, y; } __attribute__((aligned(8)));
struct double2 { double x, y; } __attribute__((aligned(16)));
struct uint4 { uint32_t x, y, z, w; } __attribute__((aligned(16)));
struct int4 { int x, y, z, w; } __attribute__((aligned(16)));
struct float4 { float x, y, z, w; } __attribute__((aligned(16)));
struct uint3 { uint32_t x, y, z; };
typedef uint3 dim3;
DEVICE uint2 make_uint2(uint32_t x, uint32_t y) { return uint2{x, y}; }
DEVICE int2 make_int2(int x, int y) { return int2{x, y}; }
DEVICE float2 make_float2(float x, float y) { return float2{x, y}; }
DEVICE double2 make_double2(double x, double y) { return double2{x, y}; }
DEVICE uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return uint4{x, y, z, w}; }
DEVICE int4 make_int4(int x, int y, int z, int w) { return int4{x, y, z, w}; }
DEVICE float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }

struct bf16 { uint16_t bits; };
struct fp16 { uint16_t bits; };

namespace emulated {

// Kernel is what a module exports under a kernel's name.
struct Kernel {
	const char* name;
	uint64_t args;     // bytes
	uint64_t threads;  // the largest block
	void (*run)(const void* args);
	bool checked;  // its accesses call the race detector (-fsanitize=thread)
};

// Place is where the present thread is.
struct Place {
	uint3 thread, block;
	dim3 threads, blocks;
};

// What a thread can wait for. Those after SYNC_WARP are collectives of a warp.
enum Wait { NOTHING, RETURNED, SYNC_THREADS, SYNC_WARP, SHUFFLE, LOAD_MATRIX, LOAD_MATRIX_TRANS, MMA_BF16, MMA_FP16 };

DEVICE Wait mma_of(const bf16*) { return MMA_BF16; }
DEVICE Wait mma_of(const fp16*) { return MMA_FP16; }
template <class To, class From> DEVICE To bits(From x) {
	static_assert(sizeof(To) == sizeof(From), "sizes differ");
	To y;
	__builtin_memcpy(&y, &x, sizeof y);
	return y;
}

}  // namespace emulated

extern "C" {
extern emulated::Place emulated_place;
extern char* emulated_shared;
void emulated_sync(emulated::Wait, const char* file, int line);
uint64_t emulated_shuffle(uint64_t value, int lane, bool relative, const char* file, int line);
void emulated_load_matrix(emulated::Wait, uint32_t* r, const void* row, const char* file, int line);
void emulated_mma(emulated::Wait, float* d, const uint32_t* a, const uint32_t* b, const char* file, int line);
void emulated_copy(void* shared, const void* global, bool valid, const char* file, int line);
void emulated_commit();
void emulated_wait(int newest);
}

static uint3 &threadIdx = emulated_place.thread, &blockIdx = emulated_place.block;
static dim3 &blockDim = emulated_place.threads, &gridDim = emulated_place.blocks;

DEVICE uint32_t __float_as_uint(float x) { return emulated::bits<uint32_t>(x); }
DEVICE int __float_as_int(float x) { return emulated::bits<int>(x); }
DEVICE float __uint_as_float(uint32_t x) { return emulated::bits<float>(x); }
DEVICE float __int_as_float(int x) { return emulated::bits<float>(x); }
DEVICE float rsqrtf(float x) { return 1.f / sqrtf(x); }
DEVICE float __expf(float x) { return expf(x); }
DEVICE float __logf(float x) { return logf(x); }
DEVICE float __fdividef(float x, float y) { return x / y; }
DEVICE float __fmul_rn(float x, float y) { return x * y; }
DEVICE int __popc(uint32_t x) { return __builtin_popcount(x); }
DEVICE int __popcll(uint64_t x) { return __builtin_popcountll(x); }
DEVICE int __ffs(int x) { return __builtin_ffs(x); }
DEVICE int __clz(int x) { return x ? __builtin_clz((uint32_t)x) : 32; }
template <class V> DEVICE V __ldg(const V* p) { return *p; }
DEVICE int min(int x, int y) { return x < y ? x : y; }
DEVICE int max(int x, int y) { return x > y ? x : y; }

DEVICE float to_float(float x) { return x; }
DEVICE float to_float(bf16 x) { return __uint_as_float((uint32_t)x.bits << 16); }
DEVICE float to_float(fp16 x) {
	uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
	if (rest > 0x7c00) return __uint_as_float(0x7fffffff);
	if (rest == 0x7c00) return __uint_as_float(sign | 0x7f800000);
	return __uint_as_float(sign | __float_as_uint(__uint_as_float(rest << 13) * 0x1p112f));  // exact, subnormal too
}

// from_float rounds to nearest, ties to even, as PTX's cvt.rn; any NaN becomes 0x7fff.
template <class T> DEVICE T from_float(float x);
template <> DEVICE float from_float<float>(float x) { return x; }
template <> DEVICE bf16 from_float<bf16>(float x) {
	uint32_t u = __float_as_uint(x);
	if ((u & 0x7fffffff) > 0x7f800000) return bf16{0x7fff};
	return bf16{(uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
}
template <> DEVICE fp16 from_float<fp16>(float x) {
	uint32_t u = __float_as_uint(x), sign = (u >> 16) & 0x8000;
	u &= 0x7fffffff;
	if (u > 0x7f800000) return fp16{0x7fff};
	if (u >= 0x477ff000) return fp16{(uint16_t)(sign | 0x7c00)};  // 65520, halfway past the largest
	if (u < 0x38800000)  // below 2^-14: the sum's last bit is fp16's smallest, 2^-24
		return fp16{(uint16_t)(sign | (__float_as_uint(__uint_as_float(u) + 0.5f) - 0x3f000000))};
	u += 0xfff + ((u >> 13) & 1);
	return fp16{(uint16_t)(sign | ((u - 0x38000000) >> 13))};
}

DEVICE char* shared_memory() { return emulated_shared; }
DEVICE void sync_threads(EMULATED_SITE) { emulated_sync(emulated::SYNC_THREADS, file, line); }
DEVICE void sync_warp(EMULATED_SITE) { emulated_sync(emulated::SYNC_WARP, file, line); }

namespace emulated {
template <class V> DEVICE V shuffle(V v, int lane, bool relative, const char* file, int line) {
	static_assert(sizeof(V) == 4 || sizeof(V) == 8, "shuffles take 4 or 8 bytes");
	uint64_t value = 0;
	__builtin_memcpy(&value, &v, sizeof v);
	value = emulated_shuffle(value, lane, relative, file, line);
	__builtin_memcpy(&v, &value, sizeof v);
	return v;
}
}  // namespace emulated
template <class V> DEVICE V shuffle(V v, int lane, EMULATED_SITE) { return emulated::shuffle(v, lane, false, file, line); }
template <class V> DEVICE V shuffle_xor(V v, int mask, EMULATED_SITE) { return emulated::shuffle(v, mask, true, file, line); }

DEVICE void copy_async16(void* shared, const void* global, bool valid, EMULATED_SITE) { emulated_copy(shared, global, valid, file, line); }
DEVICE void commit_async() { emulated_commit(); }
template <int N> DEVICE void wait_async() { emulated_wait(N); }

DEVICE void load_matrix_x4(uint32_t (&r)[4], const void* row, EMULATED_SITE) { emulated_load_matrix(emulated::LOAD_MATRIX, r, row, file, line); }
DEVICE void load_matrix_x4_trans(uint32_t (&r)[4], const void* row, EMULATED_SITE) { emulated_load_matrix(emulated::LOAD_MATRIX_TRANS, r, row, file, line); }
template <class T> DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMULATED_SITE) { emulated_mma(emulated::mma_of((const T*)0), d, a, b, file, line); }
