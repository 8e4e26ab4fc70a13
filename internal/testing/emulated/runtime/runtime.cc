// The emulator's runtime: runs a kernel block after block, the threads of a block
// as fibers in an order drawn from a seed. One kernel runs at a time in a process.
#include <dlfcn.h>

#include <algorithm>

#include "fault.h"
#include "matrix.h"
#include "profile.h"
#include "races.h"
#include "state.h"

emulated::Place emulated_place;
char* emulated_shared;

// fail ends the launch with a message. It does not return to the fiber.
__attribute__((noreturn)) static void fail(const char* format, ...) {
	va_list list;
	va_start(list, format);
	describe(format, list);
	va_end(list);
	void* lost;
	fiber_switch(&lost, now.scheduler);
	__builtin_unreachable();
}

static bool same_place(const Fiber* f, const Fiber* g) { return f->waits == g->waits && f->line == g->line && (f->file == g->file || !strcmp(f->file, g->file)); }

__attribute__((noreturn)) static void fail_divergent(const Fiber* f, const Fiber* g) {
	if (g->waits == emulated::RETURNED) std::swap(f, g);
	if (f->waits == emulated::RETURNED) fail("thread %d has returned while thread %d of the same warp waits in %s at %s:%d, which needs all 32 lanes", number(f), number(g), wait_name(g->waits), g->file, g->line);
	fail("threads wait for each other at different places: thread %d in %s at %s:%d, thread %d in %s at %s:%d", number(f), wait_name(f->waits), f->file, f->line, number(g), wait_name(g->waits), g->file, g->line);
}

static void collect(Fiber* lanes) {
	switch (lanes[0].waits) {
	case emulated::SHUFFLE: {
		uint64_t values[WARP];
		for (int i = 0; i < WARP; i++) values[i] = lanes[i].value;
		for (int i = 0; i < WARP; i++) lanes[i].value = values[lanes[i].lane];
		break;
	}
	case emulated::LOAD_MATRIX: load_matrix(lanes, false); break;
	case emulated::LOAD_MATRIX_TRANS: load_matrix(lanes, true); break;
	case emulated::MMA_BF16: multiply_bf16(lanes); break;
	case emulated::MMA_FP16: multiply_fp16(lanes); break;
	default: break;
	}
}

// settle ends a warp's round.
static void settle(Warp* w) {
	profile_round();
	Fiber* first = nullptr;  // that has not returned
	int returned = 0;
	for (int i = 0; i < w->size; i++) {
		Fiber* f = &w->lanes[i];
		if (f->waits == emulated::RETURNED) returned++;
		else if (!first) first = f;
		else if (!same_place(first, f)) fail_divergent(first, f);
	}
	if (!first) return;
	if (first->waits == emulated::SYNC_THREADS) {
		now.waiting[now.num_waiting++] = (int)(w - warps);
		return;
	}
	if (returned)
		for (int i = 0; i < w->size; i++)
			if (w->lanes[i].waits == emulated::RETURNED) fail_divergent(&w->lanes[i], first);
	if (w->size < WARP) fail("thread %d waits in %s at %s:%d, which needs 32 lanes; its warp has %d", number(first), wait_name(first->waits), first->file, first->line, w->size);
	collect(w->lanes);
	if (first->waits == emulated::SYNC_WARP) races.warp_epoch[w - warps]++;
	now.ready[now.num_ready++] = (int)(w - warps);
}

// choose takes a warp that can begin a round, mostly the last one; null when all
// threads of the block have returned.
static Warp* choose() {
	if (!now.num_ready) {
		if (!now.num_waiting) return nullptr;
		const Fiber* first = nullptr;
		for (int i = 0; i < now.num_waiting; i++) {
			Warp* w = &warps[now.waiting[i]];
			const Fiber* f = w->lanes;
			while (f->waits == emulated::RETURNED) f++;
			if (!first) first = f;
			if (!same_place(first, f)) fail_divergent(first, f);
			now.ready[now.num_ready++] = now.waiting[i];
		}
		now.num_waiting = 0;
		races.epoch++;
	}
	int i = now.num_ready - 1;
	bool stay = now.warp == &warps[now.ready[i]] && now.random.below(8);
	if (!stay) i = (int)now.random.below((uint32_t)now.num_ready);
	Warp* w = &warps[now.ready[i]];
	now.ready[i] = now.ready[--now.num_ready];
	w->at = -1;
	w->order = orders[now.random.below(ORDERS)];
	return w;
}

// next finds the fiber that runs after the present one waits or returns; null when
// the block is done.
static Fiber* next() {
	for (Warp* w = now.warp; w; w = choose()) {
		now.warp = w;
		while (++w->at < WARP) {
			int lane = w->order[w->at];
			if (lane < w->size && w->lanes[lane].waits != emulated::RETURNED) return &w->lanes[lane];
		}
		settle(w);
	}
	return nullptr;
}

static void resume(Fiber* f) {
	f->waits = emulated::NOTHING;
	threadIdx = f->thread;
	now.fiber = f;
}

// wait lets others run until the present fiber's turn comes again.
static void wait(Wait what, const char* file, int line) {
	Fiber* f = now.fiber;
	f->waits = what;
	f->file = file;
	f->line = line;
	Fiber* g = next();
	resume(g);
	if (g != f) fiber_switch(&f->context, g->context);
}

static void thread_main() {
	now.kernel->run(arguments);
	Fiber* f = now.fiber;
	f->waits = emulated::RETURNED;
	Fiber* g = next();
	if (g) resume(g);
	fiber_switch(&f->context, g ? g->context : now.scheduler);
}

void emulated_sync(Wait what, const char* file, int line) { wait(what, file, line); }

uint64_t emulated_shuffle(uint64_t value, int lane, bool relative, const char* file, int line) {
	Fiber* f = now.fiber;
	f->value = value;
	f->lane = (relative ? lane ^ number(f) : lane) & (WARP - 1);
	wait(emulated::SHUFFLE, file, line);
	return f->value;
}

// check_shared ends the launch unless 16 bytes at p are the block's and aligned.
static void check_shared(const void* p, const char* what, const char* file, int line) {
	ptrdiff_t at = (const char*)p - emulated_shared;
	if (at < 0 || at + 16 > (ptrdiff_t)now.shared) fail("thread %d gives %s at %s:%d an address %td bytes from the start of %zu bytes of shared memory", number(now.fiber), what, file, line, at, now.shared);
	if (at % 16) fail("thread %d gives %s at %s:%d the shared address %td, which is not a multiple of 16", number(now.fiber), what, file, line, at);
}

void emulated_load_matrix(Wait what, uint32_t* r, const void* row, const char* file, int line) {
	check_shared(row, wait_name(what), file, line);
	access(row, 16, WARP_READ, HERE);
	now.fiber->in0 = row;
	now.fiber->out = r;
	wait(what, file, line);
}

void emulated_mma(Wait what, float* d, const uint32_t* a, const uint32_t* b, const char* file, int line) {
	now.fiber->in0 = a;
	now.fiber->in1 = b;
	now.fiber->out = d;
	wait(what, file, line);
}

// A copy is done as late as the hardware may do it, by the wait that needs it. Until
// then its destination is poison.
void emulated_copy(void* shared, const void* global, bool valid, const char* file, int line) {
	Fiber* f = now.fiber;
	check_shared(shared, "copy_async16", file, line);
	if (valid) {
		if ((uintptr_t)global % 16) fail("thread %d gives copy_async16 at %s:%d the global address %p, which is not a multiple of 16", number(f), file, line, global);
		for (int i = 0; i < 16; i += 15) (void)((const volatile char*)global)[i];  // faults here, not in the wait
	}
	access(shared, 16, COPY, HERE);
	if (valid) access(global, 16, READ, HERE);
	memset(shared, 0xff, 16);
	f->copies.push_back(Copy{(char*)shared, (const char*)global, valid, f->groups, HERE});
}

void emulated_commit() { now.fiber->groups++; }

void emulated_wait(int newest) {
	Fiber* f = now.fiber;
	size_t kept = 0;
	for (const Copy& c : f->copies) {
		if (c.group >= f->groups - newest) {
			f->copies[kept++] = c;
			continue;
		}
		if (c.valid) memcpy(c.shared, c.global, 16);
		else memset(c.shared, 0, 16);
		finish_copy(c);
	}
	f->copies.resize(kept);
}

// run_block runs the block blockIdx.
static void run_block() {
	int n = now.threads;
	memset(emulated_shared, 0xff, (size_t)(shared_memory_end - emulated_shared));
	now.num_ready = now.num_waiting = 0;
	start_block();
	for (int i = 0; i < n; i++) {
		Fiber* f = &fibers[i];
		f->thread = uint3{i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
		f->groups = 0;
		f->copies.clear();
		f->waits = emulated::NOTHING;
		// tops lie at different offsets in their pages: else all would share few cache sets
		f->context = fiber_new(stacks + (size_t)(i + 1) * (STACK + whole_pages(1)) - i % WARP * 192, thread_main);
		if (i % WARP == 0) {
			warps[i / WARP] = Warp{f, std::min(WARP, n - i), -1, orders[0]};
			now.ready[now.num_ready++] = i / WARP;
		}
	}
	now.warp = nullptr;
	now.warp = choose();
	Fiber* f = next();
	resume(f);
	fiber_switch(&now.scheduler, f->context);
	for (const char* p = emulated_shared + now.shared; !now.failed && p < shared_memory_end; p++)
		if (*p != (char)0xff) complain("it wrote %td bytes past the end of its %zu bytes of shared memory", p - emulated_shared - (ptrdiff_t)now.shared, now.shared);
}

static bool prepare() {
	size_t page = whole_pages(1);
	if (stacks) return true;
	char* shared = guarded(MAX_SHARED);
	char* s = (char*)mmap(nullptr, MAX_THREADS * (STACK + page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
	if (!shared || s == (char*)MAP_FAILED) return false;
	for (int i = 0; i < MAX_THREADS; i++)
		if (mprotect(s + (size_t)i * (STACK + page), page, PROT_NONE)) return false;
	shared_memory_end = shared + MAX_SHARED;
	stacks = s;
	stacks_size = MAX_THREADS * (STACK + page);
	return true;
}

// emulated_launch runs a kernel and returns 0, or 1 with a message. Sizes have been checked.
extern "C" int emulated_launch(Launch* l) {
	now.kernel = l->kernel;
	now.random.state = l->seed * 0x9e3779b97f4a7c15ULL | 1;
	now.shared = l->shared;
	now.launch = l;
	now.failed = false;
	start_profile();
	start_launch();
	blockIdx = uint3{0, 0, 0};
	gridDim = dim3{l->grid[0], l->grid[1], l->grid[2]};
	blockDim = dim3{l->block[0], l->block[1], l->block[2]};
	now.threads = (int)(blockDim.x * blockDim.y * blockDim.z);
	if (!prepare()) {
		complain("no memory for its threads' stacks");
		return 1;
	}
	emulated_shared = (char*)((uintptr_t)(shared_memory_end - now.shared) & ~(uintptr_t)127);
	memcpy(arguments, l->args, l->kernel->args);
	for (int i = 0; i < ORDERS; i++) {
		for (int j = 0; j < WARP; j++) orders[i][j] = (uint8_t)j;
		for (int j = WARP - 1; j > 0; j--) std::swap(orders[i][j], orders[i][now.random.below((uint32_t)j + 1)]);
	}
	runner = pthread_self();
	catch_faults(true);
	if (!sigsetjmp(landing, 1)) {
		running = 1;
		uint64_t blocks = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
		for (uint64_t b = 0; b < blocks && !now.failed; b++) {
			blockIdx = uint3{(uint32_t)(b % gridDim.x), (uint32_t)(b / gridDim.x % gridDim.y), (uint32_t)(b / ((uint64_t)gridDim.x * gridDim.y))};
			run_block();
		}
	}
	running = 0;
	catch_faults(false);
	finish_profile();
	Dl_info object;
	if (l->code && dladdr((void*)l->code, &object)) l->base = (uint64_t)object.dli_fbase;
	return now.failed;
}

// emulated_describe gives the bytes of a kernel's arguments and its largest block.
extern "C" void emulated_describe(const Kernel* k, uint64_t* args_and_threads) {
	args_and_threads[0] = k->args;
	args_and_threads[1] = k->threads;
}
