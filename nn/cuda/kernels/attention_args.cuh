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

// layer_norm_<T>: the end of a layer. Columns from `real` on are 0 in x and skip.
//   v = scale*act(x) + skip; with gamma: v = (v - mean)/sqrt(variance + epsilon)*gamma + beta
//   with mul: v = v*mul + add of the row's square
// Column c of v is column c/group*g + c%group of y, where g is group padded to 16; y is 0 else.
struct LayerNormArgs {
	const void* x;       // T [rows][width]
	const void* skip;    // T [rows][width]; null: 0
	const float* gamma;  // [real]; null: no norm
	const float* beta;
	const float* mul;  // [64][real]; null: no gates
	const float* add;
	void* y;  // T [rows][real/group*g]; with real = group it may be x or skip
	int rows, width, real, group, act;
	float scale, epsilon;
};

// layer_norm_backward_<T>: from dy, the gradient of layer_norm's y without gates, to those of its
// inputs, 0 past the real columns, and the parts of gamma's and beta's of 64 rows each.
struct LayerNormBackwardArgs {
	const void* x;
	const void* skip;
	const void* dy;      // T, as y
	const float* gamma;  // null: no norm
	void* dx;            // T [rows][width]
	void* dskip;         // T [rows][width], may be dy, also dx where scale is 1 and act none; null: not written
	float* sums;         // [rows/64, rounded up][2][width]: of gamma, of beta; null: not written
	int rows, width, real, group, act;
	float scale, epsilon;
};

// gate_<T> gates dy back: dx = dy*mul of the square, and over the boards
//   dmul (+)= sum dy*x; dadd (+)= sum dy
struct GateBackwardArgs {
	const void* x;     // T [boards*64][width]
	const void* dy;
	const float* mul;  // [64][real]
	float* dmul;
	float* dadd;
	void* dx;  // T; may be dy
	int boards, width, real, accumulate;
};

// said_gradient_<T> takes what embed put behind the planes out of the gradient of its y:
//   dsaid[r] = dy[r][112 ..]
struct SaidGradientArgs {
	const void* dy;  // T [boards*64][width]
	void* dsaid;     // T [boards*64][said_width]
	int boards, said_width, width;
};

// attend_<T>: attention of each head of each board.
//   y[i] = sum over keys j of softmax over j of (scale*q[i]*k[j] + extra[i][j]) times v[j]
// for columns head*depth to (head+1)*depth of all. y is 0 past the heads.
struct AttendArgs {
	const void* q;  // T [boards*64][stride]
	const void* k;
	const void* v;
	const void* extra;  // T [boards*heads][64][64]; null: 0
	void* y;            // T [boards*64][width]
	int boards, heads, depth, stride, width;
	float scale;
};

// attend_backward_<T>: from dy, the gradient of attend's y, to those of its inputs, where width
// and stride are the same; 0 past the heads.
struct AttendBackwardArgs {
	const void* q;
	const void* k;
	const void* v;
	const void* extra;
	const void* dy;
	void* dq;
	void* dk;
	void* dv;
	void* dextra;  // T [boards*heads][64][64]; null where extra is
	int boards, heads, depth, width;
	float scale;
};

// attention_logits_<T>: a board's scores of its 64*64 moves, then those of promotions, of which
// there is one for (8*file + file of the target)*3 + piece; the files are neighbours.
//   y[i*64+j] = scale*q[i]*k[j]; of a promotion: y[from*64+to] + more[to][piece] + more[to][3]
struct AttentionLogitsArgs {
	const void* q;      // T [boards*64][width]
	const void* k;
	const float* more;  // [boards*64][16]
	float* y;           // [boards][64*64 + 192]
	int boards, width;
	float scale;
};

// attention_logits_backward_<T>: from dy, 0 where nothing is known, to the gradients of q, k, more.
struct AttentionLogitsBackwardArgs {
	const void* q;
	const void* k;
	const void* dy;  // T [boards][64*64 + 192]
	void* dq;
	void* dk;
	void* dmore;  // T [boards*64][16]
	int boards, width;
	float scale;
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
