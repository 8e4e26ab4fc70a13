// The fully connected layers of the heads, and softmax over legal moves where it is
// not part of the tower: head_fc1_T, head_fc1_wide_T, head_fc2, head_outputs,
// policy_gather.
#include "tower_args.cuh"
#include "tower_softmax.cuh"

#ifdef HALF
// head_fc1 computes MT*16 boards by 32 outputs in a block. Its 8 warps take an
// eighth of the inputs each, whose order in a product of mma is free: a lane loads
// 16 bytes of inputs 8t.. and takes two words for each of two products. The eight
// sums are added in order, so that the result does not depend on MT.
template <class T, int MT> DEVICE void head_fc1(const HeadFC1Args& a) {
	enum { WARPS = 8, ROW = 40 };  // floats of a row of a part, 8 more than outputs: no bank conflicts
	int n = *a.count, board = blockIdx.x * MT * 16, tile = blockIdx.y, l = 0;
	if (board >= n) return;
	while (tile >= a.layer[l].tiles) tile -= a.layer[l++].tiles;
	const HeadLayer& layer = a.layer[l];
	int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
	int share = layer.inputs / WARPS, at = warp * share + 8 * t;
	float d[MT][4][4] = {};
	const uint16_t *x[MT][2], *w[4];
	for (int m = 0; m < MT; m++)
		for (int i = 0; i < 2; i++) x[m][i] = (const uint16_t*)layer.x + (long long)imin(board + m * 16 + i * 8 + g, n - 1) * layer.stride + at;
	for (int j = 0; j < 4; j++) w[j] = (const uint16_t*)layer.w + (long long)imin(tile * 32 + j * 8 + g, layer.outputs - 1) * layer.inputs + at;
#pragma unroll 2
	for (int k = 0; k < share; k += 32) {
		uint4 b[4];
#pragma unroll
		for (int j = 0; j < 4; j++) b[j] = *(const uint4*)(w[j] + k);
#pragma unroll
		for (int m = 0; m < MT; m++) {
			uint4 r0 = *(const uint4*)(x[m][0] + k), r1 = *(const uint4*)(x[m][1] + k);
			uint32_t a0[4] = {r0.x, r1.x, r0.y, r1.y}, a1[4] = {r0.z, r1.z, r0.w, r1.w};
#pragma unroll
			for (int j = 0; j < 4; j++) {
				uint32_t b0[2] = {b[j].x, b[j].y}, b1[2] = {b[j].z, b[j].w};
				mma<T>(d[m][j], a0, b0);
				mma<T>(d[m][j], a1, b1);
			}
		}
	}
	float* part = (float*)shared_memory();  // [WARPS][16][ROW]
	for (int m = 0; m < MT; m++) {
		if (m > 0) sync_threads();
#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int i = 0; i < 4; i += 2) ((float2*)part)[(warp * 16 + g + i * 4) * (ROW / 2) + j * 4 + t] = make_float2(d[m][j][i], d[m][j][i + 1]);
		sync_threads();
		for (int i = threadIdx.x; i < 16 * 32; i += WARPS * WARP) {
			int row = i / 32, o = tile * 32 + i % 32, b = board + m * 16 + row;
			if (b >= n || o >= layer.outputs) continue;
			float sum = layer.bias[o];
			for (int p = 0; p < WARPS; p++) sum += part[(p * 16 + row) * ROW + i % 32];
			layer.y[(long long)b * layer.outputs + o] = activate(sum, layer.act);
		}
	}
}

KERNEL(head_fc1_bf16, HeadFC1Args, 256, 2) { head_fc1<bf16, 1>(a); }
KERNEL(head_fc1_fp16, HeadFC1Args, 256, 2) { head_fc1<fp16, 1>(a); }
KERNEL(head_fc1_wide_bf16, HeadFC1Args, 256, 1) { head_fc1<bf16, 4>(a); }
KERNEL(head_fc1_wide_fp16, HeadFC1Args, 256, 1) { head_fc1<fp16, 4>(a); }
#endif

#ifdef F32
// spoiled is 0, or NaN if z is not finite.
DEVICE float spoiled(float z) { return z - z; }

// answer_value turns the value head's logits into probabilities.
DEVICE void answer_value(float* wdl, float z0, float z1, float z2, int outputs) {
	if (outputs == 1) {
		float v = tanhf(z0) + spoiled(z0);
		wdl[0] = (1.f + v) / 2.f, wdl[1] = 0.f, wdl[2] = (1.f - v) / 2.f;
		return;
	}
	float top = fmaxf(z0, fmaxf(z1, z2));
	float e0 = expf(z0 - top), e1 = expf(z1 - top), e2 = expf(z2 - top);
	float scale = 1.f / (e0 + e1 + e2) + spoiled(z0) + spoiled(z1) + spoiled(z2);
	wdl[0] = e0 * scale, wdl[1] = e1 * scale, wdl[2] = e2 * scale;
}

// answer_moves turns the moves-left head's output into plies.
DEVICE float answer_moves(float z) { return (z > 0.f ? z : 0.f) + spoiled(z); }

// dot is a product of vectors over a warp; all lanes have it.
DEVICE float dot(const float* x, const float* w, int n) {
	float sum = 0.f;
	for (int i = threadIdx.x % WARP; i < n; i += WARP) sum += x[i] * w[i];
	for (int mask = 1; mask < WARP; mask *= 2) sum += shuffle_xor(sum, mask);
	return sum;
}

KERNEL(head_fc2, HeadFC2Args, 128, 1) {
	int board = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (board >= *a.count) return;
	const float* x = a.value + (long long)board * a.value_hidden;
	float z[3] = {};
	for (int i = 0; i < 3; i++)
		if (i < a.value_outputs) z[i] = dot(x, a.value_w + i * a.value_hidden, a.value_hidden) + a.value_bias[i];
	float m = 0.f;
	if (a.moves_left) m = answer_moves(dot(a.moves_left + (long long)board * a.moves_hidden, a.moves_w, a.moves_hidden) + a.moves_bias[0]);
	if (threadIdx.x % WARP == 0) {
		answer_value(a.wdl + (long long)board * 3, z[0], z[1], z[2], a.value_outputs);
		a.m[board] = m;
	}
}

KERNEL(head_outputs, HeadOutputsArgs, 128, 1) {
	int board = blockIdx.x * blockDim.x + threadIdx.x;
	if (board >= *a.count) return;
	const float* z = a.value + (long long)board * a.value_stride;
	bool wdl = a.value_outputs == 3;
	answer_value(a.wdl + (long long)board * 3, z[0], wdl ? z[1] : 0.f, wdl ? z[2] : 0.f, a.value_outputs);
	a.m[board] = a.moves_left ? answer_moves(a.moves_left[(long long)board * a.moves_stride]) : 0.f;
}

KERNEL(policy_gather, PolicyGatherArgs, 128, 1) {
	int board = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (board >= *a.count) return;
	int begin = a.start[board];
	const uint16_t *legal = a.legal + begin, *place = a.place;
	const float* logits = a.logits + (long long)board * a.width;
	softmax_moves(a.prior + begin, a.start[board + 1] - begin, [legal, place, logits](int i) { return logits[place[legal[i]]]; });
}
#endif
