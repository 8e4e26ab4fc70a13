// outer: the weight gradients of small fully connected layers, sums over boards of
// outer products; all layers of a tower in one launch, as one alone leaves most of a
// large device idle. A block has a tile of a layer's weights and all boards: they pass
// through shared memory, groups of threads take every GROUPS-th of them, and the
// groups' sums are added in order at the end.
#include "device.cuh"
#include "args.cuh"

#ifdef F32

enum { OUTER_THREADS = 512, OUTER_FLOATS = 8192 };  // of shared memory

// Outer is the geometry for tiles of TILE x TILE weights; a thread has 4 x 4.
template <int TILE> struct Outer {
	static constexpr int QUADS = TILE / 4, GROUPS = OUTER_THREADS / (QUADS * QUADS);
	static constexpr int ROW = 2 * TILE;                       // floats of a board: dout, then in
	static constexpr int STAGE = OUTER_FLOATS / ROW;           // boards in shared memory
	static constexpr int LOADS = OUTER_FLOATS / OUTER_THREADS; // floats a thread brings, of one column
	static constexpr int WEIGHTS = TILE * TILE, SEGMENTS = OUTER_THREADS / WEIGHTS;
};

// Column is the column of dout or of in that a thread brings to shared memory; past
// the last it is the last, whose products are dropped.
struct Column {
	const float* from;
	int stride, act;
};

template <int TILE> DEVICE Column column_of(const OuterLayer& a) {
	int c = threadIdx.x % (2 * TILE);
	bool left = c < TILE;
	const float* from = left ? a.dout : a.in;
	int at = left ? imin(blockIdx.y * TILE + c, a.rows - 1) : imin(blockIdx.x * TILE + c - TILE, a.columns - 1);
	return Column{from + at, left ? a.dout_stride : a.in_stride, left ? ACT_NONE : a.act};
}

// fetch reads a thread's share of the stage from board b0 on; past the last board
// it reads that one, so that no load waits for a condition.
template <int TILE> DEVICE void fetch(float (&v)[Outer<TILE>::LOADS], const Column& c, int b0, int boards) {
	typedef Outer<TILE> O;
#pragma unroll
	for (int i = 0; i < O::LOADS; i++) {
		int b = b0 + threadIdx.x / O::ROW + i * (OUTER_THREADS / O::ROW);
		v[i] = c.from[(uint64_t)imin(b, boards - 1) * c.stride];
	}
}

// multiply adds the products of a group's boards of the stage.
template <int TILE> DEVICE void multiply(float (&sum)[4][4], float (&bias)[4], const float* stage, int count) {
	typedef Outer<TILE> O;
	int t = threadIdx.x % (O::QUADS * O::QUADS), group = threadIdx.x / (O::QUADS * O::QUADS);
	const float *left = stage + t / O::QUADS * 4, *right = stage + TILE + t % O::QUADS * 4;
#pragma unroll 4
	for (int s = group; s < count; s += O::GROUPS) {
		float4 l = *(const float4*)(left + s * O::ROW), r = *(const float4*)(right + s * O::ROW);
		float lv[4] = {l.x, l.y, l.z, l.w}, rv[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
		for (int i = 0; i < 4; i++) {
			bias[i] += lv[i];
#pragma unroll
			for (int j = 0; j < 4; j++) sum[i][j] = fmaf(lv[i], rv[j], sum[i][j]);
		}
	}
}

// mixed_quad is where four weights lie among the groups' sums: 8 neighbouring threads
// have the same weights' rows of different groups, and write to different banks.
DEVICE int mixed_quad(int quad) { return quad ^ (quad >> 3 & 3) << 1; }

// finish adds the groups' sums and writes the tile.
template <int TILE> DEVICE void finish(const OuterLayer& a, bool accumulate, float* part, const float (&sum)[4][4], const float (&bias)[4]) {
	typedef Outer<TILE> O;
	int t = threadIdx.x, sub = t % (O::QUADS * O::QUADS), group = t / (O::QUADS * O::QUADS);
	int i0 = sub / O::QUADS * 4, j0 = sub % O::QUADS * 4;
#pragma unroll
	for (int i = 0; i < 4; i++) *(float4*)(part + 4 * mixed_quad((group * O::WEIGHTS + (i0 + i) * TILE + j0) / 4)) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
	sync_threads();
	int weight = t % O::WEIGHTS, segment = t / O::WEIGHTS;
	float s = 0;
#pragma unroll
	for (int g = 0; g < O::GROUPS / O::SEGMENTS; g++) s += part[4 * mixed_quad(((segment * (O::GROUPS / O::SEGMENTS) + g) * O::WEIGHTS + weight) / 4) + weight % 4];
	sync_threads();
	part[segment * O::WEIGHTS + weight] = s;
	float* biases = part + O::SEGMENTS * O::WEIGHTS;  // [GROUPS][TILE]
	if (j0 == 0) *(float4*)(biases + group * TILE + i0) = make_float4(bias[0], bias[1], bias[2], bias[3]);
	sync_threads();
	int row = blockIdx.y * TILE + weight / TILE, column = blockIdx.x * TILE + weight % TILE;
	if (segment == 0 && row < a.rows && column < a.columns) {
		s = 0;
		for (int g = 0; g < O::SEGMENTS; g++) s += part[g * O::WEIGHTS + weight];
		uint64_t at = (uint64_t)row * a.columns + column;
		a.dw[at] = (accumulate ? a.dw[at] : 0.f) + s;
	}
	row = blockIdx.y * TILE + t;
	if (a.dbias && blockIdx.x == 0 && t < TILE && row < a.rows) {
		s = 0;
		for (int g = 0; g < O::GROUPS; g++) s += biases[g * TILE + t];
		a.dbias[row] = (accumulate ? a.dbias[row] : 0.f) + s;
	}
}

template <int TILE> DEVICE void outer(const OuterArgs& a) {
	typedef Outer<TILE> O;
	float* stage = (float*)shared_memory();  // [STAGE][ROW]; afterwards the groups' sums
	float sum[4][4] = {}, bias[4] = {}, next[O::LOADS];
	const OuterLayer layer = a.layers[blockIdx.z];
	if (blockIdx.y * TILE >= layer.rows || blockIdx.x * TILE >= layer.columns) return;  // the grid is that of the largest
	Column column = column_of<TILE>(layer);
	fetch<TILE>(next, column, 0, a.boards);
	for (int b0 = 0; b0 < a.boards; b0 += O::STAGE) {
#pragma unroll
		for (int i = 0; i < O::LOADS; i++) stage[i * OUTER_THREADS + threadIdx.x] = activate(next[i], column.act);
		sync_threads();
		if (b0 + O::STAGE < a.boards) fetch<TILE>(next, column, b0 + O::STAGE, a.boards);
		multiply<TILE>(sum, bias, stage, imin(O::STAGE, a.boards - b0));
		sync_threads();
	}
	finish<TILE>(layer, a.accumulate, stage, sum, bias);
}

KERNEL(outer_8, OuterArgs, OUTER_THREADS, 1) { outer<8>(a); }
KERNEL(outer_16, OuterArgs, OUTER_THREADS, 1) { outer<16>(a); }

#endif
