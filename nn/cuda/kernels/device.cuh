// Primitives that the kernels are written with. nvcc and NVRTC see inline PTX;
// a host compiler sees emulated.h, which runs every CUDA thread as a fiber, so
// that the very same source is tested without a GPU.
//
// Rules for kernels: no includes but this folder's, one by-value struct of
// arguments, dynamic shared memory only, no atomics (results are the same in
// every run), warp primitives are called by all 32 lanes.
#pragma once

#define WARP 32

#ifndef __CUDACC__
#ifndef __CUDACC_RTC__
#include "emulated.h"
#define EMULATED 1
#endif
#endif

#ifndef EMULATED

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef short int16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#else
#include <stdint.h>  // nvcc includes it anyway, where uint64_t is another type
#endif

#define DEVICE __device__ __forceinline__
// KERNEL begins a kernel whose arguments are one struct, a; threads is the largest
// block, blocks the least number of them that an SM should hold.
#define KERNEL(name, Args, threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks) name(const Args a)

// storage formats: 16 bits each
struct bf16 { uint16_t bits; };
struct fp16 { uint16_t bits; };

DEVICE float to_float(float x) { return x; }
DEVICE float to_float(bf16 x) { return __uint_as_float((uint32_t)x.bits << 16); }
DEVICE float to_float(fp16 x) {
	float f;
	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
	return f;
}

template <class T> DEVICE T from_float(float x);
template <> DEVICE float from_float<float>(float x) { return x; }
template <> DEVICE fp16 from_float<fp16>(float x) {
	fp16 h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
	return h;
}
#if __CUDA_ARCH__ >= 800
template <> DEVICE bf16 from_float<bf16>(float x) {
	bf16 h;
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
	return h;
}
#endif

// shared_memory is the block's dynamic shared memory, aligned to 128 bytes.
DEVICE char* shared_memory() {
	extern __shared__ __align__(128) char dynamic_shared_memory[];
	return dynamic_shared_memory;
}

DEVICE void sync_threads() { __syncthreads(); }
DEVICE void sync_warp() { __syncwarp(); }
template <class V> DEVICE V shuffle_xor(V v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
template <class V> DEVICE V shuffle(V v, int lane) { return __shfl_sync(0xffffffffu, v, lane); }

#if __CUDA_ARCH__ >= 800
DEVICE uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

// copy_async16 starts a copy of 16 bytes from global to shared memory; where it is
// not valid, zeros are written and global is not read.
DEVICE void copy_async16(void* shared, const void* global, bool valid) {
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(valid ? 16 : 0) : "memory");
}
// commit_async closes the group of copies that this thread has started.
DEVICE void commit_async() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// wait_async returns when all but the newest N groups of this thread are done;
// other threads see their data after sync_threads.
template <int N> DEVICE void wait_async() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// load_matrix_x4 (ldmatrix): lane i gives the address of row i%8 of matrix i/8, 16
// bytes of 8 elements, aligned to 16. Afterwards r[m] of lane l holds elements
// 2*(l%4) and 2*(l%4)+1 (low half first) of row l/4 of matrix m. With _trans the
// matrices are transposed: elements (row 2*(l%4), column l/4) and the row below it.
DEVICE void load_matrix_x4(uint32_t (&r)[4], const void* row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}
DEVICE void load_matrix_x4_trans(uint32_t (&r)[4], const void* row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}

// mma (m16n8k16, row.col, fp32 sums): d += a*b. Lane l, g = l/4, t = l%4:
// a[0] rows g, columns 2t,2t+1; a[1] row g+8; a[2] row g, columns 2t+8,2t+9;
// a[3] row g+8 of those; b[0] k 2t,2t+1 of column g; b[1] k 2t+8,2t+9;
// d[0],d[1] row g, columns 2t,2t+1; d[2],d[3] row g+8.
template <class T> DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
template <> DEVICE void mma<bf16>(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <> DEVICE void mma<fp16>(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

#endif  // EMULATED

// The activations. Mish is x*tanh(softplus(x)).
enum { ACT_NONE = 0, ACT_RELU = 1, ACT_MISH = 2 };

// reciprocal is 1/x to an ulp: a division would take a branch for small divisors.
#ifdef EMULATED
DEVICE float reciprocal(float x) { return 1.f / x; }
#else
DEVICE float reciprocal(float x) {
	float r;
	asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}
#endif

// With e = exp(x) and n = e*(e+2), tanh(log(1+e)) = n/(n+2); from x = 20 on it is 1.
DEVICE float mish(float x) {
	float e = expf(fminf(x, 20.f)), n = e * (e + 2.f);
	return x * (n * reciprocal(n + 2.f));
}
DEVICE float activate(float x, int act) { return act == ACT_RELU ? (x > 0.f || x != x ? x : 0.f) : act == ACT_MISH ? mish(x) : x; }
// activation_slope is the derivative of activate at x; ReLU's at 0 is 0.
DEVICE float activation_slope(float x, int act) {
	if (act == ACT_RELU) return x > 0.f ? 1.f : 0.f;
	if (act != ACT_MISH) return 1.f;
	float c = fminf(x, 20.f), e = expf(c), n = e * (e + 2.f), r = reciprocal(n + 2.f);
	return r * (n + 4.f * c * e * (e + 1.f) * r);
}
DEVICE int imin(int x, int y) { return x < y ? x : y; }
