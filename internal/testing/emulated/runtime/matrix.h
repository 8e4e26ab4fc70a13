// The tensor-core primitives of a whole warp, from the fragment layouts of the PTX
// ISA (mma.m16n8k16, ldmatrix .m8n8.x4).
#pragma once

#include "block.h"

// load_matrix does ldmatrix for 32 lanes: in0 is a lane's row, out its registers.
inline void load_matrix(Fiber* lanes, bool transposed) {
	for (int l = 0; l < WARP; l++) {
		uint32_t r[4];
		for (int m = 0; m < 4; m++) {
			if (transposed) {
				uint16_t low = ((const uint16_t*)lanes[m * 8 + 2 * (l % 4)].in0)[l / 4];
				uint16_t high = ((const uint16_t*)lanes[m * 8 + 2 * (l % 4) + 1].in0)[l / 4];
				r[m] = low | (uint32_t)high << 16;
			} else {
				memcpy(&r[m], (const char*)lanes[m * 8 + l / 4].in0 + l % 4 * 4, 4);
			}
		}
		memcpy(lanes[l].out, r, sizeof r);
	}
}

// WIDE compiles a function for AVX2 as well, and picks at run time.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("arch=haswell", "default")))
#else
#define WIDE
#endif

// multiply does mma for 32 lanes: in0, in1 and out are a lane's a, b and d. Products
// and sums are in double, each result is rounded to fp32 once.
template <class T> DEVICE void multiply(Fiber* lanes) {
	typedef double Row __attribute__((vector_size(64)));  // 8 columns
	double a[16][16];
	Row b[16], d[16];
	for (int l = 0; l < WARP; l++) {
		int g = l / 4, t = l % 4;
		const T* fa = (const T*)lanes[l].in0;  // a[r] holds elements 2r and 2r+1
		const T* fb = (const T*)lanes[l].in1;
		const float* fd = (const float*)lanes[l].out;
		for (int r = 0; r < 4; r++)
			for (int h = 0; h < 2; h++) a[g + r % 2 * 8][2 * t + r / 2 * 8 + h] = to_float(fa[2 * r + h]);
		for (int r = 0; r < 2; r++)
			for (int h = 0; h < 2; h++) b[2 * t + r * 8 + h][g] = to_float(fb[2 * r + h]);
		for (int r = 0; r < 4; r++) d[g + r / 2 * 8][2 * t + r % 2] = fd[r];
	}
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 16; k++) d[i] += a[i][k] * b[k];
	for (int l = 0; l < WARP; l++) {
		float* fd = (float*)lanes[l].out;
		for (int r = 0; r < 4; r++) fd[r] = (float)d[l / 4 + r / 2 * 8][2 * (l % 4) + r % 2];
	}
}

WIDE void multiply_bf16(Fiber* lanes) { multiply<bf16>(lanes); }
WIDE void multiply_fp16(Fiber* lanes) { multiply<fp16>(lanes); }
