// The losses and their gradients with respect to the heads' outputs. The formulas
// are those of nn/kernel's losses and trainer's row losses; sums are fp32.
#include "device.cuh"
#include "args.cuh"

enum { NUM_POLICY = 1858, AUX_FROM = 64, AUX_TO = 128, AUX_MATERIAL = 192, AUX_VALUE = 193, AUX_ERROR = 194, AUX_WIDTH = 208, NO_MATERIAL = -0x8000, TERMS = 8 };

#define NOT_KNOWN __uint_as_float(0x7fc00000u)
#define INFINITE __uint_as_float(0x7f800000u)

// zero16 writes zeros to a row of width elements, width a multiple of 16: lanes
// threads share it, this one is lane.
template <class T> DEVICE void zero16(T* row, int width, int lane, int lanes) {
	uint4* to = (uint4*)row;
	for (int i = lane; i < width * (int)sizeof(T) / 16; i += lanes) to[i] = make_uint4(0, 0, 0, 0);
}

// known_loss keeps NaN for targets that are not known: a loss that is not a number
// though its target is known is infinite, so that the objective shows it.
DEVICE float known_loss(float loss) { return loss != loss ? INFINITE : loss; }

DEVICE float warp_sum(float x) {
	for (int m = WARP / 2; m > 0; m /= 2) x += shuffle_xor(x, m);
	return x;
}

// largest finds the first of the largest values over the lanes.
DEVICE void warp_largest(float& value, int& at) {
	for (int m = WARP / 2; m > 0; m /= 2) {
		float v = shuffle_xor(value, m);
		int i = shuffle_xor(at, m);
		if (v > value || (v == value && i < at)) {
			value = v;
			at = i;
		}
	}
}

// RowTerm is what a row says of one term: the gradient goes to d.
struct RowTerm {
	float loss, hit;
};

// wdl_term: cross entropy of softmax(z) over win, draw, loss; scale times its
// gradient is added to d. The target's probabilities (1-D+Q)/2, D, (1-D-Q)/2 are
// cut to what is possible and normalised.
DEVICE RowTerm wdl_term(float* d, const float* z, float q, float draw, float scale) {
	float t[3] = {(1 - draw + q) / 2, draw, (1 - draw - q) / 2}, total = 0;
	for (int i = 0; i < 3; i++) {
		t[i] = t[i] < 0 ? 0 : t[i];  // keeps NaN
		total += t[i];
	}
	if (!(total > 0)) return {NOT_KNOWN, 0};
	int top = 0, most = 0;
	for (int i = 0; i < 3; i++) {
		t[i] /= total;
		if (z[i] > z[top]) top = i;
		if (t[i] > t[most]) most = i;
	}
	float e[3], sum = 0, cross = 0;
	for (int i = 0; i < 3; i++) {
		e[i] = expf(z[i] - z[top]);
		sum += e[i];
		if (t[i] != 0) cross += t[i] * (z[i] - z[top]);
	}
	for (int i = 0; i < 3; i++) d[i] += scale * (e[i] / sum - t[i]);
	return {known_loss(logf(sum) - cross), top == most ? 1.f : 0.f};
}

// side: win, draw or loss that a value speaks for.
DEVICE int side(float q) { return q > 1.f / 3 ? 1 : q < -1.f / 3 ? -1 : 0; }

// value_term: (tanh(z) - q)^2.
DEVICE RowTerm value_term(float* d, const float* z, float q, float scale) {
	if (q != q) return {NOT_KNOWN, 0};
	float v = tanhf(z[0]);
	d[0] += scale * 2 * (v - q) * (1 - v * v);
	return {known_loss((v - q) * (v - q)), side(v) == side(q) ? 1.f : 0.f};
}

// moves_left_term: Huber loss, delta 0.5, of relu(z) against plies, in units of 20 plies.
DEVICE RowTerm moves_left_term(float* d, const float* z, float plies, float scale) {
	const float unit = 20, delta = 0.5f;
	if (plies != plies) return {NOT_KNOWN, 0};
	float x = ((z[0] < 0 ? 0 : z[0]) - plies) / unit;  // keeps NaN
	bool far = fabsf(x) > delta;
	if (z[0] > 0) d[0] += scale * ((far ? copysignf(delta, x) : x) / unit);
	return {known_loss(far ? delta * (fabsf(x) - delta / 2) : x * x / 2), 0};
}

// knows says whether a part (Q, D, M) has all fields that a head's formula reads.
DEVICE bool knows(int head, const float* part) {
	if (head == 0) return part[0] == part[0] && part[1] == part[1];
	return head == 2 ? part[2] == part[2] : part[0] == part[0];
}

// share is the other part's weight in what a row should learn: a blend of which one
// part is not known is the part that is. A part with share 0 is not asked for.
DEVICE float share(const Target& t, int head, const float* targets) {
	if (t.ratio == 0 || t.ratio == 1) return t.ratio;
	if (!knows(head, targets + 3 * t.other)) return 0;
	if (!knows(head, targets + 3 * t.target)) return 1;
	return t.ratio;
}

// mixed is a field of what a row should learn, ratio being the row's share.
DEVICE float mixed(const Target& t, float ratio, const float* targets, int field) {
	if (ratio == 0) return targets[3 * t.target + field];
	if (ratio == 1) return targets[3 * t.other + field];
	return ratio * targets[3 * t.other + field] + (1 - ratio) * targets[3 * t.target + field];
}

// learnt is the Q that a row should learn.
DEVICE float learnt(const Target& t, const float* targets) { return mixed(t, share(t, 1, targets), targets, 0); }

// softplus is log(1+exp(x)), slope its derivative.
DEVICE float softplus(float x, float& slope) {
	float e = expf(-fabsf(x)), y = logf(1 + e);
	slope = x > 0 ? 1 / (1 + e) : e / (1 + e);
	return x > 0 ? y + x : y;
}

// optimism is device.Optimism of a row, NaN where the outcome is not known.
DEVICE float optimism(const PolicyLossArgs& a, int64_t row) {
	const float* z = a.auxiliary + row * a.aux_width;
	float slope, q = learnt(a.learns, a.targets + row * 18);
	float deviations = (q - tanhf(z[AUX_VALUE])) / (sqrtf(softplus(z[AUX_ERROR], slope)) + 1e-5f);
	return 1 / (1 + expf(3 * (a.strength - deviations)));
}

// policy_loss: one warp a row.
template <class T> DEVICE void policy_loss(const PolicyLossArgs& a) {
	int lane = threadIdx.x % WARP, row = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (row >= a.rows) return;
	const float* z = a.logits + (int64_t)row * a.width;
	T* dz = a.dlogits ? (T*)a.dlogits + (int64_t)row * a.width : 0;
	if (dz && !a.add) zero16(dz, a.width, lane, WARP);
	int first = a.start[row], moves = a.ahead ? NUM_POLICY : a.start[row + 1] - first, reply = a.ahead ? a.ahead[row].reply : 0;
	float inverse = a.temperature > 0 ? 1 / a.temperature : 1.f, mass = 1.f;
	auto place = [&](int j) { return a.place[a.ahead ? j : a.legal[first + j]]; };
	auto logit = [&](int j) { return z[place(j)] * inverse; };
	auto wanted = [&](int j) {
		if (a.ahead) return j == reply ? 1.f : 0.f;
		float t = a.target[first + j];
		return a.temperature > 0 && t > 0 ? expf(logf(t) * inverse) / mass : t;
	};
	if (a.temperature > 0) {
		float sum = 0;
		for (int j = lane; j < moves; j += WARP) sum += fmaxf(wanted(j), 0.f);
		sum = warp_sum(sum);
		if (sum > 0) mass = sum;
	}

	float top = -INFINITE, most = -INFINITE, total = 0;
	int top_at = moves, most_at = moves;
	for (int j = lane; j < moves; j += WARP) {
		float v = logit(j), t = wanted(j);
		total += t;
		if (v > top) top = v, top_at = j;
		if (t > most) most = t, most_at = j;
	}
	total = warp_sum(total);
	warp_largest(top, top_at);
	warp_largest(most, most_at);
	float share = a.auxiliary ? optimism(a, row) : 1.f;
	if (!(total > 0) || share != share) {
		if (lane == 0) {
			a.loss[2 * row] = NOT_KNOWN;
			a.loss[2 * row + 1] = 0;
			if (a.entropy) a.entropy[row] = NOT_KNOWN;
		}
		return;
	}

	// with d = logit - top: sums of e = exp(d), of e*d and of t*d
	float sum = 0, own = 0, cross = 0;
	for (int j = lane; j < moves; j += WARP) {
		float d = logit(j) - top, e = expf(d), t = wanted(j);
		sum += e;
		if (e > 0) own += e * d;
		if (t != 0) cross += t * d;
	}
	sum = warp_sum(sum);
	own = warp_sum(own);
	cross = warp_sum(cross);
	if (lane == 0) {
		a.loss[2 * row] = known_loss(share * (total * logf(sum) - cross));
		a.loss[2 * row + 1] = top_at == most_at && !(a.temperature > 0) ? 1.f : 0.f;
		if (a.entropy) a.entropy[row] = logf(sum) - own / sum;
	}
	if (!dz) return;
	sync_warp();  // another lane may have zeroed what this one sets
	float scale = a.scale * a.weight[row] * share * inverse;
	for (int j = lane; j < moves; j += WARP) {
		int at = place(j);
		float d = scale * (expf(logit(j) - top) / sum * total - wanted(j));
		dz[at] = from_float<T>(a.add ? to_float(dz[at]) + d : d);
	}
}

// error_term: the square of what sigmoid(f) is off the square of the value's error.
DEVICE RowTerm error_term(float* d, float f, const float* z, int outputs, float q, float scale) {
	if (q != q) return {NOT_KNOWN, 0};
	float v = tanhf(z[0]);
	if (outputs == 3) {
		float top = fmaxf(z[0], fmaxf(z[1], z[2])), win = expf(z[0] - top), loss = expf(z[2] - top);
		v = (win - loss) / (win + expf(z[1] - top) + loss);
	}
	float forecast = 1 / (1 + expf(-f)), off = forecast - (v - q) * (v - q);
	d[0] += scale * 2 * off * forecast * (1 - forecast);
	return {known_loss(off * off), 0};
}

// category_loss is scalar_loss of a row's categories.
template <class T> DEVICE void category_loss(const ScalarLossArgs& a, int row, const float* targets, const float* z, T* dz) {
	float top = -INFINITE, sum = 0, total = 0, scale[TERMS];
	int right[TERMS];
	for (int i = 0; i < a.outputs; i++) top = fmaxf(top, z[i]);
	for (int i = 0; i < a.outputs; i++) sum += expf(z[i] - top);
#pragma unroll
	for (int k = 0; k < TERMS; k++) {
		const ScalarTerm& t = a.term[k];
		float q = k < a.terms ? learnt(t.learns, targets) : NOT_KNOWN;
		bool known = q == q;
		right[k] = known ? imin((int)(fmaxf((q + 1) / 2, 0.f) * a.outputs), a.outputs - 1) : 0;
		scale[k] = known ? t.scale * a.weight[row] : 0.f;
		total += scale[k];
		if (k >= a.terms) continue;
		t.loss[2 * row] = known ? known_loss(logf(sum) - (z[right[k]] - top)) : NOT_KNOWN;
		t.loss[2 * row + 1] = 0;
	}
	if (!dz) return;
	for (int i = 0; i < a.outputs; i++) {
		float d = total * expf(z[i] - top) / sum;
#pragma unroll
		for (int k = 0; k < TERMS; k++) d -= right[k] == i ? scale[k] : 0.f;
		dz[i] = from_float<T>(d);
	}
}

// scalar_loss: one thread a row.
template <class T> DEVICE void scalar_loss(const ScalarLossArgs& a) {
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= a.rows) return;
	int outputs = a.head == 0 ? 3 : 1;
	const float *targets = a.targets + (int64_t)row * 18, *logits = a.logits + (int64_t)row * a.width;
	T* dz = a.dlogits ? (T*)a.dlogits + (int64_t)row * a.width : 0;
	if (dz) zero16(dz, a.width, 0, 1);
	if (a.head == 4) return category_loss(a, row, targets, logits, dz);
	float z[3] = {0, 0, 0}, d[3] = {0, 0, 0};
	for (int i = 0; i < outputs; i++) z[i] = logits[i];
	for (int k = 0; k < a.terms; k++) {
		const Target& t = a.term[k].learns;
		float scale = a.term[k].scale * a.weight[row], ratio = share(t, a.head, targets), q = mixed(t, ratio, targets, 0);
		RowTerm r;
		if (a.head == 0) r = wdl_term(d, z, q, mixed(t, ratio, targets, 1), scale);
		else if (a.head == 1) r = value_term(d, z, q, scale);
		else if (a.head == 2) r = moves_left_term(d, z, mixed(t, ratio, targets, 2), scale);
		else r = error_term(d, z[0], a.value + (int64_t)row * 16, a.outputs, q, scale);
		a.term[k].loss[2 * row] = r.loss;
		a.term[k].loss[2 * row + 1] = r.hit;
	}
	if (!dz) return;
	for (int i = 0; i < outputs; i++) dz[i] = from_float<T>(d[i]);
}

// choice: cross entropy of a softmax over 64 squares and the right one; the lanes add the gradient to d.
DEVICE float choice(const float* z, float* d, int right, float scale, int lane) {
	float top = fmaxf(z[lane], z[lane + WARP]);
	for (int m = WARP / 2; m > 0; m /= 2) top = fmaxf(top, shuffle_xor(top, m));
	float low = expf(z[lane] - top), high = expf(z[lane + WARP] - top), sum = warp_sum(low + high);
	d[lane] += scale * (low / sum - (lane == right ? 1.f : 0.f));
	d[lane + WARP] += scale * (high / sum - (lane + WARP == right ? 1.f : 0.f));
	return logf(sum) - (z[right] - top);
}

// aux_loss: one warp a row. d is the row's gradient in shared memory.
template <class T> DEVICE void aux_loss(const AuxLossArgs& a) {
	int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, row = blockIdx.x * (blockDim.x / WARP) + warp;
	if (row >= a.rows) return;
	float* d = (float*)shared_memory() + warp * AUX_WIDTH;
	const float* z = a.logits + (int64_t)row * AUX_WIDTH;
	Ahead ahead = a.ahead[row];
	for (int i = lane; i < AUX_WIDTH; i += WARP) d[i] = 0;
	for (int k = 0; k < a.terms; k++) {
		sync_warp();
		const AuxTerm& t = a.term[k];
		float scale = t.scale * a.weight[row], loss = NOT_KNOWN;
		if (t.kind == 0 && ahead.material != NO_MATERIAL) {
			uint64_t men = 0;
			for (int i = 0; i < 12; i++) men |= a.masks[(int64_t)row * 104 + i];
			float count = 0, sum = 0;
			for (int sq = lane; sq < 64; sq += WARP) count += men >> sq & 1;
			count = warp_sum(count);
			for (int sq = lane; count > 0 && sq < 64; sq += WARP) {
				if (!(men >> sq & 1)) continue;
				float sign = ahead.survive >> sq & 1 ? 1.f : -1.f, slope;
				sum += softplus(-sign * z[sq], slope) / count;
				d[sq] -= scale / count * sign * slope;
			}
			sum = warp_sum(sum);
			if (count > 0) loss = known_loss(sum);
		} else if (t.kind == 1 && ahead.material != NO_MATERIAL) {
			const float delta = 0.5f;
			float x = z[AUX_MATERIAL] - ahead.material / 5.f;
			bool far = fabsf(x) > delta;
			if (lane == 0) d[AUX_MATERIAL] += scale * (far ? copysignf(delta, x) : x);
			loss = known_loss(far ? delta * (fabsf(x) - delta / 2) : x * x / 2);
		} else if (t.kind == 2 && ahead.from != ahead.to) {
			loss = choice(z + AUX_FROM, d + AUX_FROM, ahead.from, scale, lane) + choice(z + AUX_TO, d + AUX_TO, ahead.to, scale, lane);
			loss = known_loss(loss);
		} else if (t.kind == 3) {
			float q = learnt(t.learns, a.targets + (int64_t)row * 18), v = tanhf(z[AUX_VALUE]), e = v - q, slope;
			float off = softplus(z[AUX_ERROR], slope) - e * e;
			if (q == q) {
				if (lane == 0) d[AUX_VALUE] += scale * 2 * e * (1 - v * v);
				if (lane == 0) d[AUX_ERROR] += scale * 2 * off * slope;
				loss = known_loss(e * e + off * off);
			}
		}
		if (lane == 0) t.loss[2 * row] = loss;
		if (lane == 0) t.loss[2 * row + 1] = 0;
	}
	sync_warp();
	if (!a.dlogits) return;
	for (int i = lane; i < AUX_WIDTH; i += WARP) ((T*)a.dlogits)[(int64_t)row * AUX_WIDTH + i] = from_float<T>(d[i]);
}

#ifdef F32
KERNEL(policy_loss_f32, PolicyLossArgs, 256, 1) { policy_loss<float>(a); }
KERNEL(scalar_loss_f32, ScalarLossArgs, 128, 1) { scalar_loss<float>(a); }
KERNEL(aux_loss_f32, AuxLossArgs, 256, 1) { aux_loss<float>(a); }
#endif
#ifdef HALF
KERNEL(policy_loss_bf16, PolicyLossArgs, 256, 1) { policy_loss<bf16>(a); }
KERNEL(policy_loss_fp16, PolicyLossArgs, 256, 1) { policy_loss<fp16>(a); }
KERNEL(scalar_loss_bf16, ScalarLossArgs, 128, 1) { scalar_loss<bf16>(a); }
KERNEL(scalar_loss_fp16, ScalarLossArgs, 128, 1) { scalar_loss<fp16>(a); }
KERNEL(aux_loss_bf16, AuxLossArgs, 256, 1) { aux_loss<bf16>(a); }
KERNEL(aux_loss_fp16, AuxLossArgs, 256, 1) { aux_loss<fp16>(a); }
#endif
