// Rows of a window, as a batch that is copied whole has them.
#include "device.cuh"
#include "args.cuh"

#ifdef F32

enum { ROW_MASKS = 104, ROW_SCALARS = 6, ROW_TARGETS = 6 * 3, ROW_MOVES = 256, NUM_POLICY = 1858 };

// The steps of a transform (encoding.Transform), in their order.
enum { FLIP_FILES = 1, MIRROR_RANKS = 2, TRANSPOSE = 4, NUM_TRANSFORMS = 8 };

// swap_bits exchanges the bits that low chooses with those `by` places above them.
DEVICE uint64_t swap_bits(uint64_t m, int by, uint64_t low) { return (m >> by & low) | (m & low) << by; }

// transformed is encoding.Transform.Mask.
DEVICE uint64_t transformed(uint64_t m, int transform) {
	if (transform & FLIP_FILES) {  // the bits of each byte
		m = swap_bits(m, 1, 0x5555555555555555);
		m = swap_bits(m, 2, 0x3333333333333333);
		m = swap_bits(m, 4, 0x0f0f0f0f0f0f0f0f);
	}
	if (transform & MIRROR_RANKS) {  // the bytes
		m = swap_bits(m, 8, 0x00ff00ff00ff00ff);
		m = swap_bits(m, 16, 0x0000ffff0000ffff);
		m = m >> 32 | m << 32;
	}
	if (transform & TRANSPOSE) {  // ever smaller blocks
		uint64_t t = m ^ m << 36;
		m ^= 0xf0f0f0f00f0f0f0f & (t ^ m >> 36);
		t = 0xcccc0000cccc0000 & (m ^ m << 18);
		m ^= t ^ t >> 18;
		t = 0xaa00aa00aa00aa00 & (m ^ m << 9);
		m ^= t ^ t >> 9;
	}
	return m;
}

// transformed_square is encoding.Transform.Square.
DEVICE int transformed_square(int sq, int transform) {
	if (transform & FLIP_FILES) sq ^= 7;
	if (transform & MIRROR_RANKS) sq ^= 56;
	return transform & TRANSPOSE ? 63 - (sq / 8 | sq % 8 * 8) : sq;
}

// gather: one warp a row.
KERNEL(gather, GatherArgs, 256, 1) {
	int lane = threadIdx.x % WARP, row = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
	if (row >= a.rows) return;
	uint32_t kept = a.kept[row];
	int64_t slot = kept / NUM_TRANSFORMS, to = row;
	int transform = kept % NUM_TRANSFORMS, first = a.start[row], moves = a.start[row + 1] - first;

	const uint64_t* masks = a.window_masks + slot * ROW_MASKS;
	for (int i = lane; i < ROW_MASKS; i += WARP) a.masks[to * ROW_MASKS + i] = transformed(masks[i], transform);
	if (lane < ROW_SCALARS) a.scalars[to * ROW_SCALARS + lane] = a.window_scalars[slot * ROW_SCALARS + lane];
	if (lane < ROW_TARGETS) a.targets[to * ROW_TARGETS + lane] = a.window_targets[slot * ROW_TARGETS + lane];

	if (lane == 0) {
		Ahead ahead = a.window_ahead[slot];
		// The other side sees ranks mirrored. A transposition is one along the other diagonal then.
		int theirs = transform & TRANSPOSE ? transform ^ (FLIP_FILES | MIRROR_RANKS) : transform;
		ahead.survive = transformed(ahead.survive, transform);
		ahead.from = transformed_square(ahead.from, transform);
		ahead.to = transformed_square(ahead.to, transform);
		if (ahead.reply < NUM_POLICY) ahead.reply = a.images[theirs * NUM_POLICY + ahead.reply];
		a.ahead[to] = ahead;
	}
	const uint16_t* image = a.images + transform * NUM_POLICY;
	const uint16_t* legal = a.window_legal + slot * ROW_MOVES;
	const float* policy = a.window_policy + slot * ROW_MOVES;
	for (int j = lane; j < moves; j += WARP) {
		a.legal[first + j] = image[legal[j]];
		a.policy[first + j] = policy[j];
	}
}

#endif
