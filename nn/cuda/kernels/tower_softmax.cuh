// Softmax over the legal moves of a board.
#pragma once
#include "device.cuh"

// softmax_moves replaces n logits by probabilities; all of them are NaN if a logit
// is not finite. Called by a warp; z's elements may be given by other memory, from.
template <class Load> DEVICE void softmax_moves(float* p, int n, Load logit) {
	int lane = threadIdx.x % WARP;
	float top = -3.4e38f, spoiled = 0.f, sum = 0.f;
	for (int i = lane; i < n; i += WARP) {
		float z = logit(i);
		spoiled += z - z;  // 0, or NaN
		top = fmaxf(top, z);
	}
	for (int mask = 1; mask < WARP; mask *= 2) {
		top = fmaxf(top, shuffle_xor(top, mask));
		spoiled += shuffle_xor(spoiled, mask);
	}
	for (int i = lane; i < n; i += WARP) sum += expf(logit(i) - top);
	for (int mask = 1; mask < WARP; mask *= 2) sum += shuffle_xor(sum, mask);
	float scale = 1.f / sum + spoiled;
	for (int i = lane; i < n; i += WARP) p[i] = expf(logit(i) - top) * scale;
}
