// The kernel that runs now, and how it ends with a message.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "block.h"

static const int ORDERS = 128;
static const size_t MAX_SHARED = 1 << 20, MAX_ARGS = 4096;

static struct {
	const Kernel* kernel;
	Random random;
	size_t shared;  // bytes that the launch asked for
	int threads;
	Fiber* fiber;  // the one that runs
	Warp* warp;
	int ready[MAX_THREADS / WARP], num_ready;      // warps that can begin a round
	int waiting[MAX_THREADS / WARP], num_waiting;  // warps in sync_threads
	void* scheduler;                               // the context of run_block
	struct Launch* launch;
	bool failed;
} now;

// Launch is what the host asks for, and what it is told; params in module.go mirrors it.
struct Launch {
	const Kernel* kernel;
	const void* args;
	uint64_t shared, seed;
	uint32_t grid[3], block[3];
	char* message;
	uint64_t message_size;
	uint64_t fault, code;  // of a fault: the address accessed, and by what instruction
	uint64_t base;         // where the object of that instruction begins; 0: not known
	uint64_t other;        // of a race: the instruction of the access before; set where the kernel is checked
	struct Profiled* profiled;  // null: races are looked for instead
	uint64_t max_profiled, num_profiled;
};

alignas(16) static char arguments[MAX_ARGS];
static Fiber fibers[MAX_THREADS];
static Warp warps[MAX_THREADS / WARP];
static uint8_t orders[ORDERS][WARP];
static char *stacks, *shared_memory_end;
static size_t stacks_size;

// Kind is what an access does. COPY is the write of cp.async, WARP_READ is ldmatrix.
enum Kind { READ, WRITE, WARP_READ, COPY };

static int number(const Fiber* f) { return (int)(f - fibers); }

// describe puts a message that names kernel and block where the launch wants it.
static void describe(const char* format, va_list list) {
	if (now.failed) return;
	now.failed = true;
	char* to = now.launch->message;
	size_t size = now.launch->message_size;
	int n = snprintf(to, size, "kernel %s, block (%u,%u,%u): ", now.kernel->name, blockIdx.x, blockIdx.y, blockIdx.z);
	if (n >= 0 && (size_t)n < size) vsnprintf(to + n, size - n, format, list);
}

static void complain(const char* format, ...) {
	va_list list;
	va_start(list, format);
	describe(format, list);
	va_end(list);
}
