// The argument structs of inference; tower.go and headfc.go mirror them. Unlike
// the others these kernels read the number of boards from device memory, so that
// a captured graph serves every batch that its grid covers.
#pragma once
#include "device.cuh"

// tower_<T>: a whole net but for the fully connected layers of its heads, one
// launch. Weights come as a sequence of stages, each 96*channels bytes, in the order
// in which they are used:
//   3x3 convolution, for each pass of `channels` outputs, 16 inputs and kx:
//     [ky 3][16 outputs][lane][4 words]: mma's b[0], b[1] of outputs 0-7, then of 8-15
//   1x1 convolution, for each pass and 48 inputs: [16 inputs: 3][16 outputs][lane][4 words]
//   squeeze-and-excitation, for each 16 units: w1 [16][channels], then
//     w2 [gate, shift][8 units: 2][channels][8]
// Layers: input, two a block (the second followed by its SE), the 1x1 convolutions
// of the heads together, then the two of the convolutional policy head.
struct TowerArgs {
	const int* count;        // boards
	const uint64_t* masks;   // [boards][104]
	const uint8_t* scalars;  // [boards][6], encoding.Scalars
	const int* start;        // [boards+1]
	const uint16_t* legal;
	const uint16_t* place;   // [1858]: plane*64 + square of a policy index
	const void* weights;     // T: stages
	const float* vectors;    // [3x3 layers, a pass each][vector]: bias [channels]; with SE, its b2 [2*channels], b1 [16*se_stages]
	const float* head_bias;  // [head_passes*channels]
	void* flat;              // T [boards][64*head_columns]: of each head in turn [64][width], activated
	float* prior;            // beside legal: softmax over a board's moves; NaN for all if a logit is not finite
	int channels;            // a multiple of 32, at most 256
	int blocks, act;
	int stages;         // of weights
	int boards;         // of a block, which has boards*channels threads
	int buffer;         // bytes of shared memory of x, and of h: [boards*64+2][channels+8] T
	int ring, ring_end;  // offsets there: 2 or 3 stages, behind x and h, or the planes if those are larger
	int se_stages;      // a block's; 0 = no SE
	int vector;         // floats a layer, a multiple of 4
	int head_passes, policy_passes;  // of `channels` outputs; policy 0 = none: classical
	int head_columns;   // sum of width
	int width[3];       // of the heads' 1x1 convolutions, multiples of 8
};

// head_fc1_<T>, head_fc1_wide_<T>: the first fully connected layers of all heads.
//   y[b][o] = act(bias[o] + sum over i of x[b*stride+i] * w[o][i]) for o < outputs
struct HeadLayer {
	const void* x;      // T
	const void* w;      // T [outputs][inputs]
	const float* bias;  // [outputs]
	float* y;           // [boards][outputs]
	int stride;         // elements from board to board of x
	int inputs;         // a multiple of 512
	int outputs, act;
	int tiles;          // of 32 outputs; grid.y is the sum over the layers
};
struct HeadFC1Args {
	const int* count;  // boards
	HeadLayer layer[3];
};

// head_fc2: the last layers of the value and moves-left heads. One warp a board.
//   value: outputs 3: wdl = softmax; 1: v = tanh, wdl = (1+v)/2, 0, (1-v)/2
//   moves left: m = max(0, .); 0 without the head. What is not finite gives NaN.
struct HeadFC2Args {
	const int* count;
	const float* value;         // [boards][value_hidden], activated
	const float* value_w;       // [value_outputs][value_hidden]
	const float* value_bias;    // [value_outputs]
	const float* moves_left;    // [boards][moves_hidden]; null: no such head
	const float* moves_w;       // [moves_hidden]
	const float* moves_bias;    // [1]
	float* wdl;                 // [boards][3]
	float* m;                   // [boards]
	int value_hidden, value_outputs, moves_hidden;
};

// head_outputs: the same from logits that a convolution kernel has written.
struct HeadOutputsArgs {
	const int* count;
	const float* value;  // [boards][value_stride]
	const float* moves_left;  // [boards][moves_stride]; null: no such head
	float* wdl;
	float* m;
	int value_stride, value_outputs, moves_stride;
};

// policy_gather: prior = softmax of the logits of a board's legal moves. One warp a board.
struct PolicyGatherArgs {
	const int* count;
	const float* logits;    // [boards][width]
	const uint16_t* place;  // [1858]: where in a row a policy index lies
	const int* start;       // [boards+1]
	const uint16_t* legal;
	float* prior;           // beside legal, as TowerArgs
	int width;
};
