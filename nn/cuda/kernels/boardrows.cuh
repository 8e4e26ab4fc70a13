// How threads share activations [boards*64][padded] in element-wise kernels. A
// block is [boards][8][groups] threads (z, y, x): x is a group of channels, 16
// bytes of every square; y takes the squares y, y+8, ..., y+56. blockIdx.y counts
// blocks of groups where a row is longer than a block. boardGrid in join.go says
// the same to the launch.
#pragma once
#include "device.cuh"

enum { ROW_LANES = 8, LANE_ROWS = 64 / ROW_LANES };

// Vec is what one access moves.
template <class T> struct alignas(16) Vec {
	static constexpr int count = 16 / sizeof(T);
	T v[16 / sizeof(T)];
};

template <class T> DEVICE Vec<T> load_vec(const T* p) { return *(const Vec<T>*)p; }
template <class T> DEVICE void store_vec(T* p, const Vec<T>& v) { *(Vec<T>*)p = v; }

// mixed says where float i lies in shared memory if threads write or read 8 neighbours
// each, four at a time: of every second 32 floats the fours change places in pairs, so
// that the first (or last) fours of 8 threads lie in different banks.
DEVICE int mixed(int i) { return i ^ (i >> 3 & 4); }

// zero_vec is N zeros: all formats write 0 as bits 0.
template <class T> DEVICE Vec<T> zero_vec() {
	Vec<T> v;
#pragma unroll
	for (int i = 0; i < Vec<T>::count; i++) v.v[i] = from_float<T>(0.f);
	return v;
}

// load_floats reads N coefficients, N a multiple of 4, from an address aligned to 16 bytes.
template <int N> DEVICE void load_floats(float (&f)[N], const float* p) {
#pragma unroll
	for (int i = 0; i < N; i += 4) {
		float4 q = *(const float4*)(p + i);
		f[i] = q.x, f[i + 1] = q.y, f[i + 2] = q.z, f[i + 3] = q.w;
	}
}

// load_mixed reads N floats from number i on that lie in mixed order.
template <int N> DEVICE void load_mixed(float (&f)[N], const float* p, int i) {
#pragma unroll
	for (int j = 0; j < N; j += 4) {
		float4 q = *(const float4*)(p + mixed(i + j));
		f[j] = q.x, f[j + 1] = q.y, f[j + 2] = q.z, f[j + 3] = q.w;
	}
}

// Place is what a thread has of an activation.
struct Place {
	int board, channel;  // the first of its channels
	uint64_t first;      // index of its first element; the next square's is step on
	int step;
	bool valid;  // it has any
};

// place gives a thread its board, from the first on or, backwards, from the last: the
// convolutions go forwards, and a kernel after one that begins where that has ended
// finds the last boards in the L2 cache, and leaves the first ones there for the next.
template <class T> DEVICE Place place(int boards, int padded, bool backwards = false) {
	Place p;
	int nth = blockIdx.x * blockDim.z + threadIdx.z;
	p.board = backwards ? boards - 1 - nth : nth;
	p.channel = (blockIdx.y * blockDim.x + threadIdx.x) * Vec<T>::count;
	p.first = ((uint64_t)p.board * 64 + threadIdx.y) * padded + p.channel;
	p.step = ROW_LANES * padded;
	p.valid = nth < boards && p.channel < padded;
	return p;
}
