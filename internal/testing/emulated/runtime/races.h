// The race detector. Kernels compiled with -fsanitize=thread call a hook before each
// access to memory; the hooks keep, for every byte, its last write and the reads
// since, and end the launch at two accesses that CUDA's memory model does not order.
//
// Of two accesses by different threads to one byte, one of them a write, the first
// must come before the second through
//   - sync_threads, in one block; or
//   - sync_warp, in one warp. Shuffles, mma and ldmatrix bring the lanes together,
//     but order no memory (PTX ISA, "shfl.sync", "mma", "ldmatrix"); or
//   - the end of a launch: nothing orders the blocks of one.
// ldmatrix reads for all lanes. cp.async writes at any time from its issue to the
// issuer's wait: in between nobody may touch the bytes, not even the issuer.
//
// Blocks and threads run one after the other here, so a number says when something
// was: the epoch, which grows at each barrier and each block. Everything of another
// launch is older than the launch's first epoch.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "profile.h"
#include "state.h"

static const uint16_t NOBODY = 0xffff;
static const size_t MANY = 256 << 20;        // bytes of cells that are kept from launch to launch
static const uint32_t PENDING = 0xffffffff;  // a write's warp_epoch: cp.async before its wait

// Access is who accessed, when and where in the code, as an offset from the kernel's.
struct Access {
	uint32_t epoch, warp_epoch;  // of the block; how often the warp has synchronised
	int32_t code;
	uint16_t thread;
	bool copy;  // by cp.async
};

// Cell is what is known of some neighbouring bytes that were always accessed together.
// Two reads are as good as all: read is the last one's of its warp, second one by
// another warp, else by another lane in the same warp epoch. earlier is one by an
// earlier block.
struct Cell {
	Access write = {0, 0, 0, NOBODY, false}, read = write, second = write, earlier = write;
};

// Page is the cells of 1 KiB, each of 1<<shift bytes: they are cut in halves when
// an access needs it.
struct Page {
	enum { SHIFT = 10 };
	int shift = 4;
	std::unique_ptr<Cell[]> cells{new Cell[1 << (SHIFT - 4)]};
	int size() const { return 1 << (SHIFT - shift); }
	void cut() {
		int n = size();
		std::unique_ptr<Cell[]> halves(new Cell[2 * n]);
		for (int i = 0; i < 2 * n; i++) halves[i] = cells[i / 2];
		cells = std::move(halves);
		shift--;
	}
};

static struct {
	bool on;  // the kernel calls the hooks
	uint32_t epoch, of_block, of_launch;  // now; the first of the block, of the launch
	uint32_t warp_epoch[MAX_THREADS / WARP];
	std::vector<uint32_t> blocks;  // the first epochs of the launch's blocks
	uintptr_t code;                // of the kernel
	std::unordered_map<uintptr_t, Page> pages;
	struct {
		uintptr_t key;
		Page* page;
	} recent[4096];
	size_t bytes;  // of cells
} races;

static Page& page_of(uintptr_t at) {
	uintptr_t key = at >> Page::SHIFT;
	auto& r = races.recent[key % 4096];
	if (r.key != key) {
		auto found = races.pages.try_emplace(key);
		r.key = key;
		r.page = &found.first->second;
		if (found.second) races.bytes += r.page->size() * sizeof(Cell);
	}
	return *r.page;
}

// start_launch forgets the launches before: their cells are too old to matter, and
// are given back when there are many.
static void start_launch() {
	races.on = now.kernel->checked && !now.launch->profiled;
	races.code = (uintptr_t)now.kernel->run;
	races.blocks.clear();
	if (races.bytes > MANY || races.epoch > PENDING / 2) {
		races.pages.clear();
		races.bytes = 0;
		memset(races.recent, 0, sizeof races.recent);
		races.epoch = 0;
	}
	races.of_launch = ++races.epoch;
}

static void start_block() {
	races.of_block = ++races.epoch;
	if (races.on) races.blocks.push_back(races.of_block);
	memset(races.warp_epoch, 0, sizeof races.warp_epoch);
}

__attribute__((noreturn)) static void fail(const char* format, ...);

// fail_race reports an access and the one before that it is in conflict with.
__attribute__((noreturn)) static void fail_race(uintptr_t at, Kind kind, const Access& own, const Access& other, bool wrote) {
	static const char* const names[] = {"reads", "writes", "reads for its warp", "starts to copy to"};
	now.launch->code = races.code + own.code;
	now.launch->other = races.code + other.code;
	char place[64], who[96];
	size_t offset = at - (uintptr_t)emulated_shared;
	if (offset < now.shared) {
		snprintf(place, sizeof place, "byte %zu of shared memory", offset);
	} else {
		now.launch->fault = at;
		snprintf(place, sizeof place, "the address %p", (void*)at);
	}
	if (other.epoch < races.of_block) {
		size_t b = std::upper_bound(races.blocks.begin(), races.blocks.end(), other.epoch) - races.blocks.begin() - 1;
		snprintf(who, sizeof who, "thread %d of block (%zu,%zu,%zu)", other.thread, b % gridDim.x, b / gridDim.x % gridDim.y, b / gridDim.x / gridDim.y);
	} else {
		snprintf(who, sizeof who, "thread %d", other.thread);
	}
	const char* rule = other.epoch < races.of_block ? "nothing orders the blocks of a launch"
	                   : other.warp_epoch == PENDING  ? "it has not waited for that copy"
	                   : other.thread / WARP != own.thread / WARP ? "no sync_threads lies between"
	                                                              : "neither sync_warp nor sync_threads lies between";
	fail("race: thread %d %s %s at {code}, %s %s it at {other}: %s", own.thread, names[kind], place, who, !wrote ? "read" : other.copy ? "copied to" : "wrote", rule);
}

// unordered reports whether an access of this block is in no order with the present one.
static bool unordered(const Access& a, const Access& own, Kind kind) {
	if (a.thread == NOBODY || a.epoch != own.epoch) return false;
	if (a.thread / WARP != own.thread / WARP) return true;
	return a.warp_epoch == own.warp_epoch && (a.thread != own.thread || kind == WARP_READ);
}

static void note_read(Cell& c, const Access& own, Kind kind) {
	if (c.read.epoch != own.epoch) {
		if (c.read.epoch >= races.of_launch && c.read.epoch < races.of_block) c.earlier = c.read;
		c.read = own;
		c.second.thread = NOBODY;
	} else if (c.read.thread / WARP != own.thread / WARP) {
		c.second = own;
	} else {
		bool other_warp = c.second.thread != NOBODY && c.second.thread / WARP != own.thread / WARP;
		if (c.read.warp_epoch != own.warp_epoch) {
			c.read = own;
			if (!other_warp) c.second.thread = NOBODY;
		} else if (c.read.thread != own.thread && !other_warp) {
			c.second = own;
		}
	}
	if (kind == WARP_READ && c.second.thread == NOBODY) c.second = own, c.second.thread ^= 1;
}

// check_cell holds an access against a cell and notes it there. since is the first
// epoch that matters: shared memory is the block's alone.
static inline void check_cell(Cell& c, uintptr_t at, Kind kind, const Access& own, uint32_t since) {
	const Access& w = c.write;
	if (w.epoch >= since && (w.epoch < races.of_block || w.warp_epoch == PENDING || unordered(w, own, kind))) fail_race(at, kind, own, w, true);
	if (kind == READ || kind == WARP_READ) return note_read(c, own, kind);
	if (c.earlier.epoch >= since) fail_race(at, kind, own, c.earlier, false);
	if (c.read.epoch >= since) {
		if (c.read.epoch < races.of_block || unordered(c.read, own, kind)) fail_race(at, kind, own, c.read, false);
		if (unordered(c.second, own, kind)) fail_race(at, kind, own, c.second, false);
	}
	c.write = own;
	if (kind == COPY) c.write.warp_epoch = PENDING;
}

// access is what the hooks call: n bytes at p, by the present thread. Stacks, where
// local variables lie, and what the runtime says of the thread are not shared.
static inline void access(const void* p, size_t n, Kind kind, const void* code) {
	if (!races.on && !profile.on) return;
	uintptr_t at = (uintptr_t)p;
	if (at - (uintptr_t)stacks < stacks_size) return;
	if (at - (uintptr_t)&emulated_place < sizeof emulated_place || at < 4096) return;  // null: the access itself faults
	if (profile.on) return profile_access(at, n, kind, (uintptr_t)code);
	int thread = number(now.fiber);
	Access own = {races.epoch, races.warp_epoch[thread / WARP], (int32_t)((uintptr_t)code - races.code), (uint16_t)thread, kind == COPY};
	uint32_t since = at - (uintptr_t)emulated_shared < (size_t)(shared_memory_end - emulated_shared) ? races.of_block : races.of_launch;
	while (n) {
		Page& page = page_of(at);
		size_t in_page = at % (1 << Page::SHIFT), m = std::min(n, (1 << Page::SHIFT) - in_page);
		while ((at | m) & ((1u << page.shift) - 1)) {
			races.bytes += page.size() * sizeof(Cell);
			page.cut();
		}
		for (size_t i = in_page; i < in_page + m; i += (size_t)1 << page.shift) check_cell(page.cells[i >> page.shift], at + i - in_page, kind, own, since);
		at += m;
		n -= m;
	}
}

// finish_copy turns a copy that has been waited for into a write of this moment.
static void finish_copy(const Copy& c) {
	if (!races.on) return;
	if (c.valid) access(c.global, 16, READ, c.code);
	Page& page = page_of((uintptr_t)c.shared);
	size_t in_page = (uintptr_t)c.shared % (1 << Page::SHIFT);
	int thread = number(now.fiber);
	for (size_t i = in_page; i < in_page + 16; i += (size_t)1 << page.shift) page.cells[i >> page.shift].write = Access{races.epoch, races.warp_epoch[thread / WARP], (int32_t)((uintptr_t)c.code - races.code), (uint16_t)thread, true};
}

// What the compiler calls.
#define HERE __builtin_return_address(0)
#define HOOKS(n)                                                              \
	void __tsan_read##n(void* p) { access(p, n, READ, HERE); }                  \
	void __tsan_write##n(void* p) { access(p, n, WRITE, HERE); }                \
	void __tsan_volatile_read##n(void* p) { access(p, n, READ, HERE); }         \
	void __tsan_volatile_write##n(void* p) { access(p, n, WRITE, HERE); }       \
	void __tsan_unaligned_read##n(void* p) { access(p, n, READ, HERE); }        \
	void __tsan_unaligned_write##n(void* p) { access(p, n, WRITE, HERE); }      \
	void __tsan_unaligned_volatile_read##n(void* p) { access(p, n, READ, HERE); } \
	void __tsan_unaligned_volatile_write##n(void* p) { access(p, n, WRITE, HERE); } \
	void __tsan_read_write##n(void* p) { access(p, n, READ, HERE), access(p, n, WRITE, HERE); } \
	void __tsan_unaligned_read_write##n(void* p) { access(p, n, READ, HERE), access(p, n, WRITE, HERE); }

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* p, size_t n) { access(p, n, READ, HERE); }
void __tsan_write_range(void* p, size_t n) { access(p, n, WRITE, HERE); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
// The linker puts these in the place of memcpy and the like (build.go).
void* __wrap_memcpy(void* to, const void* from, size_t n) {
	access(from, n, READ, HERE);
	access(to, n, WRITE, HERE);
	return memcpy(to, from, n);
}
void* __wrap_memmove(void* to, const void* from, size_t n) {
	access(from, n, READ, HERE);
	access(to, n, WRITE, HERE);
	return memmove(to, from, n);
}
void* __wrap_memset(void* to, int value, size_t n) {
	access(to, n, WRITE, HERE);
	return memset(to, value, n);
}
}
