// The threads of a block, and what is known of each while it waits.
#pragma once

#include <vector>

#include "device.cuh"
#include "fiber.h"

using emulated::Kernel;
using emulated::Wait;

static const int MAX_THREADS = 1024;
static const size_t STACK = 256 << 10;

// Copy is a cp.async that has not been done yet.
struct Copy {
	char* shared;
	const char* global;
	bool valid;
	int group;  // how many groups this thread had committed before it
	const void* code;
};

struct Fiber {
	void* context;
	Wait waits;
	int line;  // where it waits
	const char* file;
	uint3 thread;
	// operands of the collective that it waits in
	const void *in0, *in1;
	void* out;
	uint64_t value;
	int lane;
	int groups;  // of cp.async, committed
	std::vector<Copy> copies;
};

// Warp runs in rounds: in a round every lane that has not returned runs until it
// waits; then either all of them wait for the same thing, which is done, or the
// kernel is wrong.
struct Warp {
	Fiber* lanes;
	int size;
	int at;                // how far the round is
	const uint8_t* order;  // of the lanes in this round
};

// Random is xorshift64*.
struct Random {
	uint64_t state;
	uint32_t next() {
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		return (uint32_t)((state * 0x2545f4914f6cdd1dULL) >> 32);
	}
	uint32_t below(uint32_t n) { return (uint32_t)(((uint64_t)next() * n) >> 32); }
};

inline const char* wait_name(Wait w) {
	static const char* const names[] = {"nothing", "its end", "sync_threads", "sync_warp", "shuffle", "load_matrix_x4", "load_matrix_x4_trans", "mma<bf16>", "mma<fp16>"};
	return names[w];
}
