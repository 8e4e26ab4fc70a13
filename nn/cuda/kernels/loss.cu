// The losses and their gradients with respect to the heads' outputs. The formulas
// are those of nn/kernel's losses and trainer's row losses; sums are fp32.
#include "device.cuh"
#include "args.cuh"

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

// policy_loss: one warp a row.
template <class T> DEVICE void policy_loss(const PolicyLossArgs& a) {
	int lane = threadIdx.x % WARP, row = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (row >= a.rows) return;
	const float* z = a.logits + (int64_t)row * a.width;
	T* dz = a.dlogits ? (T*)a.dlogits + (int64_t)row * a.width : 0;
	if (dz) zero16(dz, a.width, lane, WARP);
	int first = a.start[row], moves = a.start[row + 1] - first;
	const uint16_t* legal = a.legal + first;
	const float* target = a.target + first;

	float top = -INFINITE, most = -INFINITE, total = 0;
	int top_at = moves, most_at = moves;
	for (int j = lane; j < moves; j += WARP) {
		float v = z[a.place[legal[j]]], t = target[j];
		total += t;
		if (v > top) top = v, top_at = j;
		if (t > most) most = t, most_at = j;
	}
	total = warp_sum(total);
	warp_largest(top, top_at);
	warp_largest(most, most_at);
	if (!(total > 0)) {
		if (lane == 0) {
			a.loss[2 * row] = a.entropy[row] = NOT_KNOWN;
			a.loss[2 * row + 1] = 0;
		}
		return;
	}

	// with d = logit - top: sums of e = exp(d), of e*d and of t*d
	float sum = 0, own = 0, cross = 0;
	for (int j = lane; j < moves; j += WARP) {
		float d = z[a.place[legal[j]]] - top, e = expf(d), t = target[j];
		sum += e;
		if (e > 0) own += e * d;
		if (t != 0) cross += t * d;
	}
	sum = warp_sum(sum);
	own = warp_sum(own);
	cross = warp_sum(cross);
	if (lane == 0) {
		a.loss[2 * row] = known_loss(total * logf(sum) - cross);
		a.loss[2 * row + 1] = top_at == most_at ? 1.f : 0.f;
		a.entropy[row] = logf(sum) - own / sum;
	}
	if (!dz) return;
	sync_warp();  // another lane may have zeroed what this one sets
	float scale = a.scale * a.weight[row];
	for (int j = lane; j < moves; j += WARP) {
		int at = a.place[legal[j]];
		dz[at] = from_float<T>(scale * (expf(z[at] - top) / sum * total - target[j]));
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
	return head == 1 ? part[0] == part[0] : part[2] == part[2];
}

// share is the other part's weight in what a row should learn: a blend of which one
// part is not known is the part that is. A part with share 0 is not asked for.
DEVICE float share(const ScalarTerm& t, int head, const float* targets) {
	if (t.ratio == 0 || t.ratio == 1) return t.ratio;
	if (!knows(head, targets + 3 * t.other)) return 0;
	if (!knows(head, targets + 3 * t.target)) return 1;
	return t.ratio;
}

// mixed is a field of what a row should learn, ratio being the row's share.
DEVICE float mixed(const ScalarTerm& t, float ratio, const float* targets, int field) {
	if (ratio == 0) return targets[3 * t.target + field];
	if (ratio == 1) return targets[3 * t.other + field];
	return ratio * targets[3 * t.other + field] + (1 - ratio) * targets[3 * t.target + field];
}

// scalar_loss: one thread a row.
template <class T> DEVICE void scalar_loss(const ScalarLossArgs& a) {
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= a.rows) return;
	int outputs = a.head == 0 ? 3 : 1;
	const float* targets = a.targets + (int64_t)row * 18;
	float z[3] = {0, 0, 0}, d[3] = {0, 0, 0};
	for (int i = 0; i < outputs; i++) z[i] = a.logits[(int64_t)row * a.width + i];
	for (int k = 0; k < a.terms; k++) {
		const ScalarTerm& t = a.term[k];
		float scale = t.scale * a.weight[row], ratio = share(t, a.head, targets);
		RowTerm r;
		if (a.head == 0) r = wdl_term(d, z, mixed(t, ratio, targets, 0), mixed(t, ratio, targets, 1), scale);
		else if (a.head == 1) r = value_term(d, z, mixed(t, ratio, targets, 0), scale);
		else r = moves_left_term(d, z, mixed(t, ratio, targets, 2), scale);
		float* loss = a.loss + 2 * ((int64_t)k * a.rows + row);
		loss[0] = r.loss;
		loss[1] = r.hit;
	}
	if (!a.dlogits) return;
	T* dz = (T*)a.dlogits + (int64_t)row * a.width;
	zero16(dz, a.width, 0, 1);
	for (int i = 0; i < outputs; i++) dz[i] = from_float<T>(d[i]);
}

#ifdef F32
KERNEL(policy_loss_f32, PolicyLossArgs, 256, 1) { policy_loss<float>(a); }
KERNEL(scalar_loss_f32, ScalarLossArgs, 128, 1) { scalar_loss<float>(a); }
#endif
#ifdef HALF
KERNEL(policy_loss_bf16, PolicyLossArgs, 256, 1) { policy_loss<bf16>(a); }
KERNEL(policy_loss_fp16, PolicyLossArgs, 256, 1) { policy_loss<fp16>(a); }
KERNEL(scalar_loss_bf16, ScalarLossArgs, 128, 1) { scalar_loss<bf16>(a); }
KERNEL(scalar_loss_fp16, ScalarLossArgs, 128, 1) { scalar_loss<fp16>(a); }
#endif
