// What the forward and the backward kernels of attention nets share beside tiles.
#pragma once
#include "device.cuh"

enum { ACT_RELU2 = 3, ACT_SWISH = 4, ACT_SELU = 5, PROMOTIONS = 64 * 64, ATTENTION_LOGITS = PROMOTIONS + 192 };

// activate_inner has the activations of layers inside encoders, too, inner_slope their derivatives.
DEVICE float activate_inner(float x, int act) {
	if (act == ACT_RELU2) return x > 0.f || x != x ? x * x : 0.f;
	if (act == ACT_SWISH) return x / (1.f + expf(-x));
	if (act == ACT_SELU) return 1.05070098f * (x > 0.f ? x : 1.67326324f * (expf(x) - 1.f));
	return activate(x, act);
}
DEVICE float inner_slope(float x, int act) {
	if (act == ACT_RELU2) return x > 0.f || x != x ? 2.f * x : 0.f;
	if (act == ACT_SWISH) {
		float s = 1.f / (1.f + expf(-x));
		return s * (1.f + x * (1.f - s));
	}
	if (act == ACT_SELU) return 1.05070098f * (x > 0.f ? 1.f : 1.67326324f * expf(x));
	return activation_slope(x, act);
}

// warp_sum adds up over a warp; all lanes have the sum.
DEVICE float warp_sum(float v) {
	for (int mask = 1; mask < WARP; mask *= 2) v += shuffle_xor(v, mask);
	return v;
}

// LayerEnd is a row of what a layer norm takes.
template <class T> struct LayerEnd {
	const T *x, *skip;
	float scale;
	int act;
	template <class Args> DEVICE LayerEnd(const Args& a, int64_t row)
	    : x((const T*)a.x + row * a.width), skip(a.skip ? (const T*)a.skip + row * a.width : (const T*)0), scale(a.scale), act(a.act) {}
	DEVICE float value(int c) const {
		float v = scale * activate_inner(to_float(x[c]), act);
		return skip ? v + to_float(skip[c]) : v;
	}
};

// Spread is where columns go that stand in groups, each padded to 16.
struct Spread {
	int group, padded, width;
	DEVICE Spread(int real, int group) : group(group), padded((group + 15) / 16 * 16), width(real / group * padded) {}
	// column is what stands at a place, or -1.
	DEVICE int column(int at) const { return at % padded < group ? at / padded * group + at % padded : -1; }
	DEVICE int place(int column) const { return column / group * padded + column % group; }
};

// clear_columns writes 0 to columns `from` to width of 64 rows.
template <class T> DEVICE void clear_columns(T* y, int width, int from) {
	int rest = width - from;
	for (int i = threadIdx.x; i < 64 * rest; i += blockDim.x) y[(int64_t)(i / rest) * width + from + i % rest] = from_float<T>(0.f);
}
