// The argument structs of attention.cu; args.cuh says how. Rows of all boards' squares are
// [boards*64][width], widths padded to 16.
#pragma once

// men_<T>: the men of a board, all that a dense embedding's first layer reads.
//   y[board][square*12 + plane] = 1 where the mask has the square, else 0
struct MenArgs {
	const uint64_t* masks;  // [boards][104]
	void* y;                // T [boards][768]
	int boards;
};

// embed_<T>: planes beside what is said to each square.
//   y[r] = planes[r], then said[r] or, of a table for all boards, said[r%64]; then zeros
struct EmbedArgs {
	const void* planes;  // T [boards*64][112]
	const void* said;    // T [boards*64 or 64][said_width]
	void* y;             // T [boards*64][width]
	int boards, said_width, width;
	int by_board;
};

// layer_norm_<T>: the end of a layer. Of a row's columns those count of which column%group < real;
// in the others x, skip, gamma and beta are 0, and so is y.
//   v = scale*act(x) + skip; with gamma: v = (v - mean)/sqrt(variance + epsilon)*gamma + beta
//   with mul: v = v*mul + add of the row's square
struct LayerNormArgs {
	const void* x;       // T [rows][width]
	const void* skip;    // T; null: 0; may be y
	const float* gamma;  // [width]; null: no norm
	const float* beta;
	const float* mul;  // [64][width]; null: no gates
	const float* add;
	void* y;  // T; may be x
	int rows, width, group, real, act;
	float scale, epsilon;
};

// attend_<T>: attention of each head of each board. Queries are scaled.
//   y[q] = sum over keys k of softmax over k of (query[q]*key[k] + extra[q][k]) times value[k]
// for columns head*depth to (head+1)*depth of y and of the three parts of qkv, which begin
// every `width` columns. y is 0 past the heads.
struct AttendArgs {
	const void* qkv;    // T [boards*64][3*width]
	const void* extra;  // T [boards*heads][64][64]; null: 0
	void* y;            // T [boards*64][width]
	int boards, heads, depth, width;
};

// attention_policy_<T>: softmax over the legal moves of a board of query[from]*key[to], where a
// promotion's row is added to the query. Queries are scaled. Of every board, as TowerArgs.
struct AttentionPolicyArgs {
	const int* count;         // boards
	const void* qk;           // T [boards*64][2*width]: queries, keys
	const float* promotion;   // [3][width]: to a queen, a rook, a bishop
	const uint16_t* places;   // [1858]: encoding.AttentionPolicyIndex
	const int* start;         // [boards+1]
	const uint16_t* legal;
	float* prior;             // beside legal
	int width;
};
