// Weights in nn's order to those that the convolutions read, rounded to T.
#include "boardrows.cuh"
#include "args.cuh"

enum { PACK_THREADS = 256, PACK_SIDE = 16, PACK_DEPTH = 9 };

// PackTiles cuts a tensor into tiles of PACK_SIDE outputs x PACK_SIDE inputs x depth
// taps. Of a layer that follows flattened activations the channels are the inputs and
// the squares, 8 a tile, take the part of taps: they too are innermost in w.
struct PackTiles {
	int outs, ins, depth, count;  // padded; taps in a tile; tiles
	int real_ins, deep;           // inputs (channels) and taps (squares) of w
	DEVICE PackTiles(const PackEntry& e) {
		bool flat = e.channels > 0;
		real_ins = flat ? e.channels : e.ci;
		deep = flat ? 64 : e.taps;
		depth = flat ? 8 : e.taps;
		outs = (e.co + 15) / 16 * 16;
		ins = (real_ins + 15) / 16 * 16;
		count = outs / PACK_SIDE * (ins / PACK_SIDE) * (deep / depth);
	}
};

// pack_store writes 16 values of a tile, those step apart from tile on.
template <class T> DEVICE void pack_store(T* to, const float* tile, int step) {
#pragma unroll
	for (int k = 0; k < PACK_SIDE; k += Vec<T>::count) {
		Vec<T> v;
#pragma unroll
		for (int j = 0; j < Vec<T>::count; j++) v.v[j] = from_float<T>(tile[(k + j) * step]);
		store_vec(to + k, v);
	}
}

// pack_tile packs the tile of outputs o0.., inputs i0.. and taps (squares) j0.. .
template <class T> DEVICE void pack_tile(const PackEntry& e, const PackTiles& t, int o0, int i0, int j0) {
	constexpr int row = PACK_SIDE * PACK_DEPTH + 1;  // of an output in shared memory
	float* tile = (float*)shared_memory();           // [PACK_SIDE][row], inputs PACK_DEPTH apart
	bool flat = e.channels > 0;
	for (int c = threadIdx.x; c < PACK_SIDE * PACK_SIDE * t.depth; c += PACK_THREADS) {
		int j = c % t.depth, i = c / t.depth % PACK_SIDE, o = c / t.depth / PACK_SIDE;
		bool real = o0 + o < e.co && i0 + i < t.real_ins;
		int64_t line = (int64_t)(o0 + o) * t.real_ins * t.deep;
		int at = e.by_square ? (j0 + j) * t.real_ins + i0 + i : (i0 + i) * t.deep + j0 + j;
		tile[o * row + i * PACK_DEPTH + j] = real ? e.w[line + at] : 0.f;
	}
	sync_threads();
	for (int c = threadIdx.x; c < PACK_SIDE * t.depth; c += PACK_THREADS) {
		int k = c % PACK_SIDE, j = c / PACK_SIDE, deep = j0 + j;
		int64_t o = o0 + k, i = i0 + k;
		// forward: output k's inputs; backward: input k's outputs
		int64_t forward = flat ? (o * 64 + deep) * t.ins + i0 : (deep * (int64_t)t.outs + o) * t.ins + i0;
		pack_store((T*)e.forward + forward, tile + k * row + j, PACK_DEPTH);
		int64_t backward = ((flat ? deep : t.deep - 1 - deep) * (int64_t)t.ins + i) * t.outs + o0;
		if (e.backward) pack_store((T*)e.backward + backward, tile + k * PACK_DEPTH + j, row);
	}
	sync_threads();
}

// pack is the kernel: blockIdx.y is the entry, blocks of x share its tiles.
template <class T> DEVICE void pack(const PackArgs& a) {
	PackEntry e = a.entries[blockIdx.y];
	PackTiles t(e);
	int wide = t.ins / PACK_SIDE, deep = t.deep / t.depth;
	for (int n = blockIdx.x; n < t.count; n += gridDim.x) pack_tile<T>(e, t, n / deep / wide * PACK_SIDE, n / deep % wide * PACK_SIDE, n % deep * t.depth);
}

#ifdef F32
KERNEL(pack_f32, PackArgs, PACK_THREADS, 4) { pack<float>(a); }
#endif
#ifdef HALF
KERNEL(pack_bf16, PackArgs, PACK_THREADS, 4) { pack<bf16>(a); }
KERNEL(pack_fp16, PackArgs, PACK_THREADS, 4) { pack<fp16>(a); }
#endif
