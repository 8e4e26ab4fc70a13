// Batch norm between its convolution and the kernels that apply it: statistics
// and gradients from the convolution's sums by board, and the input's gradient.
#include "boardrows.cuh"
#include "args.cuh"

// A block of the two kernels over sums has 8 channels, a 32-byte sector of each
// row of sums, so that 256 channels spread over 32 SMs; 256 pairs of threads go
// through the boards.
enum { BN_THREADS = 512, BN_CHANNELS = 8, BN_WARPS = BN_THREADS / WARP };

// add_double adds four channels.
DEVICE void add_double(double* s, float4 v) {
	s[0] += v.x;
	s[1] += v.y;
	s[2] += v.z;
	s[3] += v.w;
}

// channel_sums returns, in the threads below BN_CHANNELS, both sums over the boards
// of channel blockIdx.x*BN_CHANNELS + threadIdx.x. Pair i adds the boards i, i+256,
// ... in order; pairs are added by halving, warps in order.
DEVICE void channel_sums(const float* sums, int boards, int padded, double& first, double& second) {
	int t = threadIdx.x;
	const float* p = sums + blockIdx.x * BN_CHANNELS + t % 2 * 4;
	double s[8] = {};
#pragma unroll 4
	for (int b = t / 2; b < boards; b += BN_THREADS / 2) {
		const float* row = p + (uint64_t)b * 2 * padded;
		add_double(s, *(const float4*)row);
		add_double(s + 4, *(const float4*)(row + padded));
	}
	double* part = (double*)shared_memory();  // [warps][2][BN_CHANNELS]
#pragma unroll
	for (int i = 0; i < 8; i++) {
#pragma unroll
		for (int mask = 2; mask < WARP; mask *= 2) s[i] += shuffle_xor(s[i], mask);
		if (t % WARP < 2) part[(t / WARP * 2 + i / 4) * BN_CHANNELS + t % 2 * 4 + i % 4] = s[i];
	}
	sync_threads();
	first = second = 0;
	if (t >= BN_CHANNELS) return;
#pragma unroll
	for (int w = 0; w < BN_WARPS; w++) {
		first += part[(w * 2) * BN_CHANNELS + t];
		second += part[(w * 2 + 1) * BN_CHANNELS + t];
	}
}

#ifdef F32

KERNEL(bn_forward, BNForwardArgs, BN_THREADS, 1) {
	double sum = 0, squares = 0;
	if (a.sums) channel_sums(a.sums, a.boards, a.padded, sum, squares);
	int c = blockIdx.x * BN_CHANNELS + threadIdx.x;
	if (threadIdx.x >= BN_CHANNELS) return;
	if (c >= a.channels) {
		a.mean[c] = a.inv_std[c] = a.scale[c] = a.shift[c] = 0;
		return;
	}
	double mean, var;
	if (a.sums) {
		double count = 64.0 * a.boards, m = a.momentum;
		mean = sum / count;
		var = squares / count - mean * mean;
		if (var < 0) var = 0;  // rounding; a NaN stays
		a.pending_mean[c] = (float)((1 - m) * a.pending_mean[c] + m * mean);
		a.pending_var[c] = (float)((1 - m) * a.pending_var[c] + m * var);
	} else {
		mean = a.pending_mean[c];
		var = a.pending_var[c];
	}
	float mean32 = (float)mean, inv_std = (float)(1 / sqrt(var + 1e-5));
	double scale = (double)a.gamma[c] * inv_std;
	a.mean[c] = mean32;
	a.inv_std[c] = inv_std;
	a.scale[c] = (float)scale;
	a.shift[c] = (float)(a.beta[c] - mean32 * scale);
}

KERNEL(bn_backward, BNBackwardArgs, BN_THREADS, 1) {
	double sum, sumz;
	channel_sums(a.sums, a.boards, a.padded, sum, sumz);
	int c = blockIdx.x * BN_CHANNELS + threadIdx.x;
	if (threadIdx.x >= BN_CHANNELS) return;
	if (c >= a.channels) {
		a.k[c] = a.k[a.padded + c] = a.k[2 * a.padded + c] = 0;
		return;
	}
	double mean = a.mean[c], inv_std = a.inv_std[c], count = 64.0 * a.boards;
	double dgamma = (sumz - mean * sum) * inv_std;
	a.dgamma[c] = (a.accumulate ? a.dgamma[c] : 0.f) + (float)dgamma;
	a.dbeta[c] = (a.accumulate ? a.dbeta[c] : 0.f) + (float)sum;
	double k0 = a.gamma[c] * inv_std, k2 = -k0 * inv_std * dgamma / count;
	a.k[c] = (float)k0;
	a.k[a.padded + c] = (float)(-k0 * sum / count - k2 * mean);
	a.k[2 * a.padded + c] = (float)k2;
}

#endif

// bn_input: with dyn, k0*(dyn_scale*d + dyn_shift) + k1 folds into one scale and shift.
template <class T> DEVICE void bn_input(const BNInputArgs& a) {
	constexpr int N = Vec<T>::count, BATCH = 4;
	Place p = place<T>(a.boards, a.padded, true);
	if (!p.valid) return;
	float k0[N], k1[N], k2[N];
	load_floats(k0, a.k + p.channel);
	load_floats(k1, a.k + a.padded + p.channel);
	load_floats(k2, a.k + 2 * a.padded + p.channel);
	if (a.dyn_scale) {
		float scale[N], shift[N];
		uint64_t at = (uint64_t)p.board * a.padded + p.channel;
		load_floats(scale, a.dyn_scale + at);
		load_floats(shift, a.dyn_shift + at);
#pragma unroll
		for (int c = 0; c < N; c++) {
			k1[c] = fmaf(k0[c], shift[c], k1[c]);
			k0[c] *= scale[c];
		}
	}
	const T *d = (const T*)a.d + p.first, *z = (const T*)a.z + p.first;
	T* dz = (T*)a.dz + p.first;
#pragma unroll 1
	for (int r = 0; r < LANE_ROWS; r += BATCH) {
		Vec<T> dv[BATCH], zv[BATCH];
#pragma unroll
		for (int i = 0; i < BATCH; i++) {
			dv[i] = load_vec(d + (r + i) * p.step);
			zv[i] = load_vec(z + (r + i) * p.step);
		}
#pragma unroll
		for (int i = 0; i < BATCH; i++) {
#pragma unroll
			for (int c = 0; c < N; c++) {
				float v = fmaf(k0[c], to_float(dv[i].v[c]), fmaf(k2[c], to_float(zv[i].v[c]), k1[c]));
				dv[i].v[c] = from_float<T>(v);
			}
			store_vec(dz + (r + i) * p.step, dv[i]);
		}
	}
}

#ifdef F32
KERNEL(bn_input_f32, BNInputArgs, 256, 3) { bn_input<float>(a); }
#endif
#ifdef HALF
KERNEL(bn_input_bf16, BNInputArgs, 256, 3) { bn_input<bf16>(a); }
KERNEL(bn_input_fp16, BNInputArgs, 256, 3) { bn_input<fp16>(a); }
#endif
