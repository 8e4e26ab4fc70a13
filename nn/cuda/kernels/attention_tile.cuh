// Products of 64 rows with 64 rows by a block of ATTENTION_THREADS, whose operands lie in shared
// memory: of queries and keys, and of weights and values. A row there has Tile<T>::COLUMNS columns
// of what is longer, or of a Tile 64.
#pragma once
#include "boardrows.cuh"

enum { ATTENTION_THREADS = 128 };

// pair packs two numbers of 2 bytes, the first in the low half.
template <class T> DEVICE uint32_t pair(float low, float high) {
	return (uint32_t)from_float<T>(low).bits | (uint32_t)from_float<T>(high).bits << 16;
}

// Columns is where a product goes: to columns first .. end of 64 rows of y, times scale.
template <class T> struct Columns {
	T* y;
	int stride, first, end;
	float scale;

	DEVICE void put(int row, int c, float v) const {
		if (first + c < end) y[(int64_t)row * stride + first + c] = from_float<T>(v * scale);
	}
	// of two neighbours, the first of which has an even c; 4 bytes at a time where heads begin at such
	DEVICE void put(int row, int c, float low, float high) const {
		if ((first | end) % 2 != 0) {
			put(row, c, low);
			put(row, c + 1, high);
		} else if (first + c < end) *(uint32_t*)(y + (int64_t)row * stride + first + c) = pair<T>(low * scale, high * scale);
	}
};

// Tile is a 64x64 result. A thread has PER numbers in each of ROWS rows; the LANES lanes that
// share a row are neighbours.
template <class T> struct Tile {
	enum { COLUMNS = 64, STRIDE = COLUMNS + 8, PAIRS = 64 + 8, ROWS = 2, PER = 16, LANES = 4 };
	float v[8][4] = {};  // rows g and g+8 of a warp's 16; columns 8n+2t and the next

	DEVICE static int first() { return threadIdx.x / WARP * 16; }
	DEVICE static int row(int r) { return first() + 8 * r + threadIdx.x % WARP / 4; }
	DEVICE static int column(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
	DEVICE float& at(int r, int j) { return v[j / 2][2 * r + j % 2]; }
#ifdef HALF
	// add adds the products of rows of left and right, which have so many columns.
	DEVICE void add(const T* left, const T* right, int columns) {
		int row = threadIdx.x % 8, matrix = threadIdx.x % WARP / 8;  // whose address a lane gives to load_matrix
		for (int k = 0; k < columns; k += 16) {
			uint32_t l[4];
			load_matrix_x4(l, left + (first() + matrix % 2 * 8 + row) * STRIDE + k + matrix / 2 * 8);
#pragma unroll
			for (int n = 0; n < 8; n += 2) {
				uint32_t r[4];
				load_matrix_x4(r, right + (n * 8 + matrix / 2 * 8 + row) * STRIDE + k + matrix % 2 * 8);
				uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
				mma<T>(v[n], l, b0);
				mma<T>(v[n + 1], l, b1);
			}
		}
	}

	// times writes the product of a stored tile, or of its transpose, with x, which has so many columns.
	template <bool TRANSPOSED> DEVICE static void times(const T* tile, const T* x, int columns, const Columns<T>& to) {
		int row = threadIdx.x % 8, matrix = threadIdx.x % WARP / 8, g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
		uint32_t l[4][4];
#pragma unroll
		for (int k = 0; k < 4; k++) {
			if (TRANSPOSED) load_matrix_x4_trans(l[k], tile + (k * 16 + matrix / 2 * 8 + row) * PAIRS + first() + matrix % 2 * 8);
			else load_matrix_x4(l[k], tile + (first() + matrix % 2 * 8 + row) * PAIRS + k * 16 + matrix / 2 * 8);
		}
		for (int n = 0; n < columns; n += 16) {
			float y[2][4] = {};
#pragma unroll
			for (int k = 0; k < 4; k++) {
				uint32_t r[4];
				load_matrix_x4_trans(r, x + (k * 16 + matrix % 2 * 8 + row) * STRIDE + n + matrix / 2 * 8);
				uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
				mma<T>(y[0], l[k], b0);
				mma<T>(y[1], l[k], b1);
			}
#pragma unroll
			for (int i = 0; i < 8; i += 2) to.put(first() + i / 2 % 2 * 8 + g, n + i / 4 * 8 + 2 * t, y[i / 4][i % 4], y[i / 4][i % 4 + 1]);
		}
	}
#endif
};

#ifdef F32
template <> struct Tile<float> {
	enum { COLUMNS = 16, STRIDE = COLUMNS + 1, PAIRS = 64 + 1, ROWS = 4, PER = 8, LANES = 8 };
	float v[4][8] = {};

	DEVICE static int row(int r) { return threadIdx.x / 8 * 4 + r; }
	DEVICE static int column(int j) { return threadIdx.x % 8 + 8 * j; }
	DEVICE float& at(int r, int j) { return v[r][j]; }

	DEVICE void add(const float* left, const float* right, int columns) {
		for (int c = 0; c < columns; c++)
#pragma unroll
			for (int i = 0; i < ROWS; i++)
#pragma unroll
				for (int j = 0; j < PER; j++) v[i][j] = fmaf(left[row(i) * STRIDE + c], right[column(j) * STRIDE + c], v[i][j]);
	}

	template <bool TRANSPOSED> DEVICE static void times(const float* tile, const float* x, int columns, const Columns<float>& to) {
		float y[ROWS][COLUMNS / 8] = {};
		for (int k = 0; k < 64; k++)
#pragma unroll
			for (int i = 0; i < ROWS; i++) {
				float l = TRANSPOSED ? tile[k * PAIRS + row(i)] : tile[row(i) * PAIRS + k];
#pragma unroll
				for (int j = 0; j < COLUMNS / 8; j++) y[i][j] = fmaf(l, x[k * STRIDE + column(j)], y[i][j]);
			}
#pragma unroll
		for (int i = 0; i < ROWS; i++)
#pragma unroll
			for (int j = 0; j < COLUMNS / 8; j++) to.put(row(i), column(j), y[i][j]);
	}
};
#endif

// put_vec and get_vec are an access to a stored row: of floats, which are not aligned there, one by one.
template <class T> DEVICE void put_vec(T* shared, const Vec<T>& v) {
	if (sizeof(T) == 2) return store_vec(shared, v);
#pragma unroll
	for (int j = 0; j < Vec<T>::count; j++) shared[j] = v.v[j];
}
template <class T> DEVICE Vec<T> get_vec(const T* shared) {
	if (sizeof(T) == 2) return load_vec(shared);
	Vec<T> v;
#pragma unroll
	for (int j = 0; j < Vec<T>::count; j++) v.v[j] = shared[j];
	return v;
}

// load copies COLUMNS columns of 64 rows of x from column `first` on to shared memory, with zeros
// from column `end` on, 16 bytes at a time where heads begin at such. It returns how many to work
// with, a multiple of 16.
template <class T> DEVICE int load(T* shared, const T* x, int stride, int first, int end) {
	enum { COLUMNS = Tile<T>::COLUMNS, COUNT = Vec<T>::count };
	if (first % COUNT == 0 && end % COUNT == 0) {
		for (int i = threadIdx.x; i < 64 * COLUMNS / COUNT; i += ATTENTION_THREADS) {
			int r = i / (COLUMNS / COUNT), c = i % (COLUMNS / COUNT) * COUNT;
			Vec<T> v = first + c < end ? load_vec(x + (int64_t)r * stride + first + c) : zero_vec<T>();
			put_vec(shared + r * Tile<T>::STRIDE + c, v);
		}
	} else {
		for (int i = threadIdx.x; i < 64 * COLUMNS; i += ATTENTION_THREADS) {
			int r = i / COLUMNS, c = i % COLUMNS;
			shared[r * Tile<T>::STRIDE + c] = first + c < end ? x[(int64_t)r * stride + first + c] : from_float<T>(0.f);
		}
	}
	return imin(COLUMNS, (end - first + 15) / 16 * 16);
}

// store writes a tile, rounded, to shared memory.
template <class T> DEVICE void store(T* shared, Tile<T>& tile) {
#pragma unroll
	for (int r = 0; r < Tile<T>::ROWS; r++)
#pragma unroll
		for (int j = 0; j < Tile<T>::PER; j++) shared[tile.row(r) * Tile<T>::PAIRS + tile.column(j)] = from_float<T>(tile.at(r, j));
}

// copy_in and copy_out move [64][64] numbers between memory and a stored tile.
template <class T> DEVICE void copy_in(T* shared, const T* x) {
	for (int i = threadIdx.x * Vec<T>::count; i < 64 * 64; i += ATTENTION_THREADS * Vec<T>::count) {
		put_vec(shared + i / 64 * Tile<T>::PAIRS + i % 64, load_vec(x + i));
	}
}
template <class T> DEVICE void copy_out(T* y, const T* shared) {
	for (int i = threadIdx.x * Vec<T>::count; i < 64 * 64; i += ATTENTION_THREADS * Vec<T>::count) {
		store_vec(y + i, get_vec(shared + i / 64 * Tile<T>::PAIRS + i % 64));
	}
}

// row_sum and row_largest take a number of each of the lanes that share a row.
template <class T> DEVICE float row_sum(float v) {
	for (int mask = 1; mask < Tile<T>::LANES; mask *= 2) v += shuffle_xor(v, mask);
	return v;
}
template <class T> DEVICE float row_largest(float v) {
	for (int mask = 1; mask < Tile<T>::LANES; mask *= 2) v = fmaxf(v, shuffle_xor(v, mask));
	return v;
}

// softmax_rows takes products to weights: softmax of scale*tile + extra, [64][64] or null, for
// which `stored` has the room of a tile.
template <class T> DEVICE void softmax_rows(Tile<T>& tile, float scale, const T* extra, T* stored) {
	if (extra) {
		copy_in(stored, extra);
		sync_threads();
	}
#pragma unroll
	for (int r = 0; r < Tile<T>::ROWS; r++) {
		float top = -3.4e38f, sum = 0.f;
#pragma unroll
		for (int j = 0; j < Tile<T>::PER; j++) {
			float& z = tile.at(r, j);
			z *= scale;
			if (extra) z += to_float(stored[tile.row(r) * Tile<T>::PAIRS + tile.column(j)]);
			top = fmaxf(top, z);
		}
		top = row_largest<T>(top);
#pragma unroll
		for (int j = 0; j < Tile<T>::PER; j++) sum += tile.at(r, j) = expf(tile.at(r, j) - top);
		float factor = 1.f / row_sum<T>(sum);
#pragma unroll
		for (int j = 0; j < Tile<T>::PER; j++) tile.at(r, j) *= factor;
	}
}
