// The end of a training step. Each formula rounds where nn/kernel's vector code
// does (fused multiply-adds are written out), so that a step here and on the CPU
// agree bit for bit, given the same gradient and norm.
#include "device.cuh"
#include "args.cuh"

#define PREPARE_THREADS 256
#define FINISH_THREADS 1024

// averaged is the new value of the average; with keep 0 the old one may be anything. Its
// products are rounded: the compiler does not fuse __fmul_rn with what follows.
DEVICE float averaged(float old, float w, float keep, float add) {
	return keep == 0 ? w : __fmul_rn(keep, old) + __fmul_rn(add, w);
}

DEVICE bool is_finite(double x) { return x - x == 0; }

// block_sum adds x and y up over a block of THREADS, a power of two, always in the
// same order; thread 0 has the result.
template <int THREADS> DEVICE void block_sum(double& x, double& y) {
	double* sums = (double*)shared_memory();  // [2][THREADS]
	int t = threadIdx.x;
	sums[t] = x;
	sums[THREADS + t] = y;
	for (int half = THREADS / 2; half > 0; half /= 2) {
		sync_threads();
		if (t < half) {
			sums[t] += sums[t + half];
			sums[THREADS + t] += sums[THREADS + t + half];
		}
	}
	if (t == 0) {
		x = sums[0];
		y = sums[THREADS];
	}
}

#ifdef F32

KERNEL(prepare_gradient, PrepareGradientArgs, PREPARE_THREADS, 4) {
	double of_g = 0, of_w = 0;
	for (int64_t i = 4 * ((int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x); i < a.n; i += 4 * (int64_t)gridDim.x * PREPARE_THREADS) {
		float4 g4 = *(const float4*)(a.g + i), w4 = make_float4(0, 0, 0, 0);
		bool decays = a.decay[i / 256];
		if (decays) w4 = *(const float4*)(a.w + i);
		float g[4] = {g4.x, g4.y, g4.z, g4.w}, w[4] = {w4.x, w4.y, w4.z, w4.w};
		for (int j = 0; j < 4; j++) {
			g[j] *= a.scale;
			if (decays && a.l2 != 0) g[j] = fmaf(a.l2, w[j], g[j]);
			of_g += (double)g[j] * g[j];
			of_w += (double)w[j] * w[j];
		}
		*(float4*)(a.g + i) = make_float4(g[0], g[1], g[2], g[3]);
	}
	block_sum<PREPARE_THREADS>(of_g, of_w);
	if (threadIdx.x == 0) {
		a.part[2 * blockIdx.x] = of_g;
		a.part[2 * blockIdx.x + 1] = of_w;
	}
}

// finish_norm: 0*x is 0 where x is finite, else NaN.
KERNEL(finish_norm, FinishNormArgs, FINISH_THREADS, 1) {
	double of_g = 0, of_w = 0, zero = 0, none = 0;
	for (int i = threadIdx.x; i < a.parts; i += FINISH_THREADS) {
		double2 part = *(const double2*)(a.part + 2 * i);
		of_g += part.x;
		of_w += part.y;
	}
	for (int i = threadIdx.x; i < a.running; i += FINISH_THREADS) zero += 0. * a.pending[i];
	block_sum<FINISH_THREADS>(of_g, of_w);
	sync_threads();  // thread 0 has read the sums
	block_sum<FINISH_THREADS>(zero, none);
	if (threadIdx.x != 0) return;
	double norm = sqrt(of_g);
	a.state->grad_norm = norm;
	a.state->half_squares = of_w / 2;
	a.state->clip = a.clip_norm > 0 && norm > a.clip_norm ? (float)(a.clip_norm / norm) : 1.f;
	a.state->finite = a.objective_finite && is_finite(norm) && zero == 0;
}

DEVICE void sgd_one(float& w, float g, float& m, const StepArgs& a) {
	m = fmaf(m, a.momentum, g);
	w = fmaf(-a.lr, fmaf(a.momentum, m, g), w);
}

template <bool AHEAD> DEVICE void adamw_one(float& w, float g, float& m, float& v, float decay, const StepArgs& a) {
	m = fmaf(1 - a.beta1, g, a.beta1 * m);
	v = fmaf((1 - a.beta2) * g, g, a.beta2 * v);
	float d = sqrtf(v / a.correction2) + a.epsilon;
	w = fmaf(-decay, w, w);
	w = fmaf(-a.lr, (AHEAD ? fmaf(a.cg, g, a.cm * m) : m / a.correction1) / d, w);
}

// step changes four weights a thread.
template <bool ADAMW, bool AHEAD> DEVICE void step(const StepArgs& a) {
	int64_t i = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
	if (i >= a.n || !a.state->finite) return;
	float clip = a.state->clip;
	float4 w4 = *(const float4*)(a.w + i), g4 = *(const float4*)(a.g + i), m4 = *(const float4*)(a.m + i);
	float w[4] = {w4.x, w4.y, w4.z, w4.w}, g[4] = {g4.x, g4.y, g4.z, g4.w}, m[4] = {m4.x, m4.y, m4.z, m4.w};
	for (int j = 0; j < 4; j++) g[j] *= clip;
	if (ADAMW) {
		float4 v4 = *(const float4*)(a.v + i);
		float v[4] = {v4.x, v4.y, v4.z, v4.w};
		float decay = a.decay[i / 256] ? a.lr * a.weight_decay : 0;
		for (int j = 0; j < 4; j++) adamw_one<AHEAD>(w[j], g[j], m[j], v[j], decay, a);
		*(float4*)(a.v + i) = make_float4(v[0], v[1], v[2], v[3]);
	} else {
		for (int j = 0; j < 4; j++) sgd_one(w[j], g[j], m[j], a);
	}
	*(float4*)(a.w + i) = make_float4(w[0], w[1], w[2], w[3]);
	*(float4*)(a.m + i) = make_float4(m[0], m[1], m[2], m[3]);
	if (a.swa_add > 0) {
		float4 s = *(const float4*)(a.swa + i);
		*(float4*)(a.swa + i) = make_float4(averaged(s.x, w[0], a.swa_keep, a.swa_add), averaged(s.y, w[1], a.swa_keep, a.swa_add),
		                                    averaged(s.z, w[2], a.swa_keep, a.swa_add), averaged(s.w, w[3], a.swa_keep, a.swa_add));
	}
}

KERNEL(sgd, StepArgs, 256, 4) { step<false, false>(a); }
KERNEL(adamw, StepArgs, 256, 4) { step<true, false>(a); }
KERNEL(nadamw, StepArgs, 256, 4) { step<true, true>(a); }

KERNEL(keep_running, KeepRunningArgs, 256, 1) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= a.n || (a.state && !a.state->finite)) return;
	float x = a.pending[i];
	a.running[i] = x;
	if (a.swa_add > 0) a.swa[i] = averaged(a.swa[i], x, a.swa_keep, a.swa_add);
}

KERNEL(add_part, AddPartArgs, 256, 1) {
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < a.n) a.sum[i] = fmaf(a.keep, a.sum[i], a.part[i]);
}

#endif
