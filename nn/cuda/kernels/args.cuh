// The argument structs of all kernels; args.go mirrors them field by field.
// Pointers first, then 32-bit fields. T is the kernel's storage type: float, bf16
// or fp16. "Padded" channels are a multiple of 16; those past the real ones hold 0.
// Activations are channels last: [boards*64][channels], square a1 = 0.
#pragma once

// conv_<taps>_<tile>_<T>: a convolution over 8x8 boards (taps 9: 3x3, zero border) or
// a matrix product (taps 1: 1x1 convolutions and fully connected layers, any rows).
//   v[r][o] = sum over taps, i of in(x[row of the tap][i]) * w[tap][o][i]   (fp32)
//   v += bias[o]; v += add[r][o]; v *= slope at z[r][o]*z_scale[o]+z_shift[o]
// in(x) = act(x*in_scale[i]+in_shift[i]), rounded to T, where one of the three is given
// (squares off the board stay 0), else x. tap = ky*3+kx reads the square of rank+ky-1, file+kx-1.
struct ConvArgs {
	const void* x;          // T [rows][ci]
	const void* w;          // T [taps][co][ci]
	void* y;                // T [rows][co]; null: not written
	float* y32;             // fp32 [rows][co]; null: not written
	const float* in_scale;  // [ci]; null: 1
	const float* in_shift;  // [ci]; null: 0
	const float* bias;      // [co]; null: none
	const void* add;        // T [rows][co]; null: none; may be y
	const void* z;          // T [rows][co]; null: no slope
	const float* z_scale;   // [co]; null: 1
	const float* z_shift;   // [co]; null: 0
	float* sums;            // [rows/64][2][co]: by board over its squares, of v and of v*v, or, with z, of v and v*z; null: none
	int rows, ci, co;       // ci, co padded
	int in_act;             // ACT_*
	int z_act;
};

// wgrad_<taps>_<T>, wgrad_<taps>_act_<T>: parts of a convolution's weight gradient.
//   part[s][tap][o][i] = sum over the rows r of split s of dz[r][o] * in(x[row of the tap][i])
// Split s of a 3x3 has boards [s*boards/splits, (s+1)*boards/splits); of a product, rows likewise.
struct WgradArgs {
	const void* x;   // T [rows][ci]
	const void* dz;  // T [rows][co]
	float* part;     // [splits][taps][co][ci]
	const float* in_scale;
	const float* in_shift;
	int rows, ci, co, in_act, splits;
};

// wgrad_reduce: adds the parts in order, to the gradient in nn's order:
//   grad[o][i][tap] = (accumulate ? grad : 0) + sum over s of part[s][tap][o][i]
// for o < real_co, i < real_ci. Where channels > 0 the input was [64][channels]
// padded activations, i = square*channels + c, and column c*64+square of grad
// [real_co][real_channels*64] takes it (taps 1, real_ci = 64*real_channels), or with by_square
// column square*real_channels + c.
struct WgradReduceArgs {
	const float* part;
	float* grad;
	int splits, taps, co, ci, real_co, real_ci, channels, real_channels, by_square, accumulate;
};

// column_sums_<T>: bias gradients. sum[o] = (accumulate ? sum : 0) + sum over rows of x[r][o], o < real.
struct ColumnSumsArgs {
	const void* x;  // T [rows][columns]
	float* sum;
	int rows, columns, real, accumulate;
};

// pack_<T>: weights in nn's order to those of conv. One entry a tensor.
struct PackEntry {
	const float* w;    // [co][ci][k][k] or [co][ci]
	void* forward;     // T [taps][co padded][ci padded]; padding is written as 0
	void* backward;    // T [taps][ci padded][co padded], taps in reverse order; null: none
	int co, ci, taps;  // real
	int channels;      // > 0: columns c*64+square become square*pad16(channels)+c, ci = 64*channels
	int by_square;     // they are columns square*channels+c
};
struct PackArgs {
	const PackEntry* entries;  // in device memory
	int count;                 // grid.y
};

// Ahead is encoding.Ahead of a row: what became of the position.
struct Ahead {
	uint64_t survive;
	int16_t material;   // 0x8000: survive and material are not known
	uint16_t reply;     // policy index of the opponent's reply, from the opponent's view; 0xffff: not known
	uint16_t from, to;  // its squares; equal: not known
};

// gather: rows of a window as a micro-batch. Masks and policy indices of a row are their
// images under its transform; all else is copied. Row r has start[r+1]-start[r] legal moves.
struct GatherArgs {
	const uint32_t* kept;    // [rows]: slot*8 + encoding.Transform
	const int* start;        // [rows+1]
	const uint16_t* images;  // [8][1858], encoding.PolicyImages
	const uint64_t* window_masks;   // [slots][104]
	const uint8_t* window_scalars;  // [slots][6]
	const float* window_targets;    // [slots][6][3]
	const Ahead* window_ahead;      // [slots]
	const uint16_t* window_legal;   // [slots][256]
	const float* window_policy;     // [slots][256]
	uint64_t* masks;    // [rows][104]
	uint8_t* scalars;   // [rows][6]
	float* targets;     // [rows][6][3]
	Ahead* ahead;       // [rows]
	uint16_t* legal;    // from start[r] on
	float* policy;      // beside legal
	int rows;
};

// expand_<T>: input planes from bit masks.
struct ExpandArgs {
	const uint64_t* masks;   // [boards][104]
	const uint8_t* scalars;  // [boards][6], encoding.Scalars
	void* planes;            // T [boards*64][112]
	int boards;
};

// bn_forward: from conv's sums to what normalises.
//   batch statistics: mean = sum/count, var = max(0, squares/count - mean^2), in
//   double, in an order that depends on the number of boards alone; pending = (1-momentum)*pending + momentum*new
//   running: mean, var are pending_mean, pending_var, which stay
//   inv_std = 1/sqrt(var+1e-5); scale = gamma*inv_std; shift = beta - mean*scale
struct BNForwardArgs {
	const float* sums;   // [boards][2][padded]; null: running
	const float* gamma;  // [channels]
	const float* beta;
	float* pending_mean;  // [channels]
	float* pending_var;
	float* mean;  // [padded], like those below; 0 past channels
	float* inv_std;
	float* scale;
	float* shift;
	int boards, channels, padded;
	float momentum;
};

// se_forward_<boards a block: 4 or 16>: squeeze-and-excitation of batch norm's output.
//   pool = sums/64*scale+shift; pre = w1*pool+b1; hidden = act(pre); f = w2*hidden+b2
//   gate = sigmoid(f[:channels]); board_scale = gate*scale; board_shift = gate*shift + f[channels:]
struct SEForwardArgs {
	const float* sums;  // [boards][2][padded]: the first of each pair
	const float* scale;
	const float* shift;
	const float *w1, *b1;  // [units][channels], [units]
	const float *w2, *b2;  // [2*channels][units], [2*channels]
	float* pool;           // [boards][padded]; 0 past channels, and gate
	float* pre;            // [boards][units]
	float* gate;           // [boards][padded]
	float* board_scale;    // [boards][padded]; 0 past channels, and the next
	float* board_shift;
	int boards, channels, padded, units, act;
};

// join_<T>: y = act(z*scale + shift + x), scale and shift by channel, or by board and channel.
struct JoinArgs {
	const void* z;  // T [boards*64][padded]
	const float* scale;
	const float* shift;
	const void* x;  // T; null: 0
	void* y;        // T; may be x
	int boards, padded, act;
	int by_board;  // scale, shift [boards][padded], else [padded]
};

// join_backward_<T>: d = dy * slope(z*scale + shift + x); by board and channel, sums over
// the squares of d and d*z (of d as stored).
struct JoinBackwardArgs {
	const void* dy;  // T [boards*64][padded]
	const void* z;
	const float* scale;
	const float* shift;
	const void* x;  // null: 0
	void* d;        // may be dy
	float* sums;    // [boards][2][padded]
	int boards, padded, act, by_board;
};

// se_backward_<boards a block>: from join_backward's sums of d to the gradients of the small layers
// and to those of batch norm's output, dyn = dyn_scale*d + dyn_shift.
//   dgate = scale*sum(d*z) + shift*sum(d); df = [dgate*gate*(1-gate), sum(d)]
//   dhid = (w2^T df)*slope(pre); dpool = w1^T dhid
//   dyn_scale = gate; dyn_shift = dpool/64
//   dyn_sums: sum dyn = gate*sum(d) + dpool; sum dyn*z = gate*sum(d*z) + dpool/64*sum(z)
struct SEBackwardArgs {
	const float* sums;   // [boards][2][padded] of join_backward
	const float* zsums;  // [boards][2][padded] of the forward convolution
	const float* scale;
	const float* shift;
	const float* gate;
	const float* pre;
	const float *w1, *w2;
	float* df;    // [boards][2*channels]
	float* dhid;  // [boards][units]
	float* dyn_scale;  // [boards][padded]; 0 past channels
	float* dyn_shift;
	float* dyn_sums;  // [boards][2][padded]
	int boards, channels, padded, units, act;
};

// outer_<tile: 8 or 16>: gradients of small fully connected layers, fp32.
//   dw[i][j] = (accumulate ? dw : 0) + sum over boards b of dout[b][i]*act(in[b][j])
//   dbias[i] likewise of dout[b][i]. Their order is fixed by boards and tile.
struct OuterLayer {
	const float* dout;  // [boards][dout_stride], rows columns used
	const float* in;    // [boards][in_stride]
	float* dw;          // [rows][columns]
	float* dbias;       // [rows]; null: none
	int rows, columns, dout_stride, in_stride, act;
};
struct OuterArgs {
	const OuterLayer* layers;  // in device memory; grid.z of them
	int boards, accumulate;
};

// bn_backward: from sums of the gradient d of batch norm's output to parameters
// and to dz = k0*d + k1 + k2*z. Sums are in double, in an order that depends on the
// number of boards alone.
//   dbeta (+)= sum d; dgamma (+)= sum d*xhat, xhat = (z-mean)*inv_std
//   k0 = gamma*inv_std; k2 = -k0*inv_std*dgamma'/count; k1 = -k0*sum(d)/count - k2*mean, count = boards*64
struct BNBackwardArgs {
	const float* sums;  // [boards][2][padded]: of d, of d*z
	const float* gamma;
	const float* mean;
	const float* inv_std;
	float* dgamma;  // [channels]
	float* dbeta;
	float* k;  // [3][padded]; 0 past channels
	int boards, channels, padded, accumulate;
};

// bn_input_<T>: dz = k0*d' + k1 + k2*z, d' = dyn_scale*d + dyn_shift where those are given.
struct BNInputArgs {
	const void* d;  // T [boards*64][padded]
	const void* z;
	const float* k;          // [3][padded]
	const float* dyn_scale;  // [boards][padded]; null: d' = d
	const float* dyn_shift;
	void* dz;  // T; may be d
	int boards, padded;
};

// A row learns ratio*other + (1-ratio)*target of its targets; a part with share 0 is not looked at.
struct Target {
	int target, other;  // of encoding.Target
	float ratio;
};

// policy_loss_<T>: softmax cross entropy over the legal moves of each row.
//   loss = -sum t log p; dlogits = scale*weight[r]*(p*sum(t) - t), 0 elsewhere.
// A row without moves, with a NaN or without mass in its target: loss and entropy
// NaN, hit and gradient 0. Where the target is known and the loss is not a number
// (a logit is not), the loss is +Inf.
// With temperature, a further loss without hits: p is of logits/temperature, and t the target to the
// power of 1/temperature, normalised; the gradient is divided by temperature. With auxiliary,
// loss and gradient are multiplied by the row's optimism, device.Optimism of what it learns of
// `learns`; NaN if that is not known. With ahead it is the reply to all 1858 moves that counts.
struct PolicyLossArgs {
	const float* logits;    // [rows][width]
	const uint16_t* place;  // [1858]: where in a row a policy index lies
	const int* start;       // [rows+1]
	const uint16_t* legal;
	const float* target;     // beside legal
	const float* weight;     // [rows]
	const float* targets;    // [rows][6][3]: Q, D, M
	const float* auxiliary;  // [rows][aux_width]: the auxiliary head's outputs; null: no optimism
	const Ahead* ahead;      // [rows]; null: legal moves
	void* dlogits;           // T [rows][width], all written, or with add those of the moves; null: none
	float* loss;             // [rows][2]: loss, hit (0 or 1)
	float* entropy;          // [rows] of p, nats; null: not written
	int rows, width, aux_width, add;
	float scale;        // term weight * loss scale / rows of the micro-batch
	float temperature;  // 0: none
	float strength;
	Target learns;
};

// scalar_loss_<T>: the losses of the value or the moves-left head, terms added up, or of
// a forecast of the value head: of the square of its error, against the head's logits, or of the
// category, one of equal parts of [-1,1], that Q is in.
// Unknown targets and losses that are not numbers as in policy_loss.
struct ScalarTerm {
	float* loss;  // [rows][2]: loss (NaN: target not known), hit
	Target learns;
	float scale;  // as in PolicyLossArgs
};
struct ScalarLossArgs {
	const float* logits;   // [rows][width]
	const float* value;    // [rows][16] of the value head: head 3
	const float* targets;  // [rows][6][3]: Q, D, M
	const float* weight;   // [rows]
	void* dlogits;         // T [rows][width], all written, 0 past the outputs; null: none
	ScalarTerm term[8];
	int rows, width, terms;
	int head;     // 0 = WDL cross entropy, 1 = (tanh(z)-q)^2, 2 = moves left, Huber, 3 = error, 4 = category
	int outputs;  // of head 3: the value head's; of head 4: categories
};

// aux_loss_<T>: the losses of the auxiliary head, terms added up, as nn/cpu/train's auxRowLoss.
struct AuxTerm {
	float* loss;  // [rows][2]
	Target learns;
	int kind;  // 0 = survival, 1 = material, 2 = reply, 3 = short-term value and its error
	float scale;
};
struct AuxLossArgs {
	const float* logits;  // [rows][208]: nn.AuxSurvive and the following
	const float* targets;
	const float* weight;
	const Ahead* ahead;
	const uint64_t* masks;  // [rows][104]
	void* dlogits;          // T [rows][208], all written; null: none
	AuxTerm term[8];
	int rows, terms;
};

// prepare_gradient: g = g*scale + l2*w where decay[i/256]; both sums of squares,
// in parts (double) for finish_norm.
struct PrepareGradientArgs {
	float* g;  // [n], n a multiple of 256
	const float* w;
	const uint8_t* decay;  // [n/256]
	double* part;          // [gridDim.x][2]: of g; of w where decay
	int n;
	float scale, l2;
};

// StepState lies in device memory; the host reads it after the step.
struct StepState {
	double grad_norm;     // before clipping
	double half_squares;  // half the sum of squares of decaying weights
	float clip;           // factor for the gradient
	int finite;
};
// finish_norm: one block; adds up parts in a fixed order, looks at the pending running
// statistics. clip = min(1, clip_norm/grad_norm), 1 where clip_norm is 0; finite:
// the norm, every pending number and the objective are.
struct FinishNormArgs {
	const double* part;    // [parts][2]
	const float* pending;  // [running]
	StepState* state;
	int parts, running;
	float clip_norm;
	int objective_finite;
};

// sgd, adamw: change weights by gradients where state->finite. n is a multiple of 256.
//   g' = g*state->clip
//   sgd: m = momentum*m + g'; w -= lr*(g' + momentum*m)
//   nadamw: the same with (cm*m + cg*g') in the place of m/correction1
//   adamw: m = beta1*m + (1-beta1)*g'; v = beta2*v + (1-beta2)*g'*g';
//     w -= lr*weight_decay*w where decay[i/256]; w -= lr*(m/correction1)/(sqrt(v/correction2)+epsilon)
// Both then, where swa_add > 0: swa = swa_keep*swa + swa_add*w, keep 0 meaning swa = w.
struct StepArgs {
	float* w;
	const float* g;
	float* m;  // velocity of sgd
	float* v;  // adamw
	float* swa;
	const uint8_t* decay;  // [n/256]
	const StepState* state;
	int n;
	float lr, momentum, beta1, beta2, epsilon, weight_decay, correction1, correction2, cm, cg, swa_keep, swa_add;
};

// keep_running: running = pending where state->finite (always where state is null); average as StepArgs.
struct KeepRunningArgs {
	const float* pending;
	float* running;
	float* swa;
	const StepState* state;
	int n;
	float swa_keep, swa_add;
};

// add_part: sum = keep*sum + part, of another device.
struct AddPartArgs {
	float* sum;
	const float* part;
	int n;
	float keep;
};
