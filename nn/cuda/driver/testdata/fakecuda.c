// A libcuda.so.1 of host memory, for the test of the real driver where there is no
// GPU: the calls that it makes, under the names of CUDA's header, at least as strict
// as a driver: a context that is current on the calling thread, live handles of that
// context, memory in bounds, what a capture forbids, errors that stay after a fault.
// It knows the kernel of cuda_test.go, and those of nn/cuda/kernels where
// $CHESSBRAIN_EMULATED_KERNELS is a folder of them compiled for the emulator
// (scripts/emulated_gpu.sh): then the GPU program runs as a whole, slowly.
//
// $FAKE_CUDA_DEVICES is the number of devices (1), $FAKE_CUDA_BYTES the memory of each
// (1 GiB), $FAKE_CUDA_INIT what cuInit answers (0), $FAKE_CUDA_FAULT the kernel, as they
// run, that accesses memory which is not there (none); CUDA_VISIBLE_DEVICES counts.
#include "fakework.h"

#include <dlfcn.h>

// emulator_launch mirrors Launch of internal/testing/emulated/runtime/state.h, with room for more.
struct emulator_launch {
	const void *kernel, *args;
	uint64_t shared, seed;
	uint32_t grid[3], block[3];
	char *message;
	uint64_t message_size, fault, code, base, more[8];
};
static int (*run_emulated)(struct emulator_launch *);
static void (*describe_emulated)(const void *, uint64_t *);
static int num_devices = -1;  // before cuInit

static void unlock(int *unused) { pthread_mutex_unlock(&lock); }
#define LOCKED() \
	__attribute__((cleanup(unlock), unused)) int locked = pthread_mutex_lock(&lock); \
	if (num_devices < 0) return CUDA_ERROR_NOT_INITIALIZED
#define IN_CONTEXT() \
	LOCKED(); \
	if (!current) return CUDA_ERROR_INVALID_CONTEXT; \
	if (current->references < 1) return CUDA_ERROR_CONTEXT_IS_DESTROYED; \
	if (current->broken) return current->broken
#define REQUIRE(condition) \
	if (!(condition)) return CUDA_ERROR_INVALID_VALUE
#define LIVE(h) \
	if (!usable(h)) return CUDA_ERROR_INVALID_HANDLE
#define DEVICE(d) \
	LOCKED(); \
	if (d < 0 || d >= num_devices) return CUDA_ERROR_INVALID_DEVICE

static long setting(const char *name, long usual) { return getenv(name) ? atol(getenv(name)) : usual; }

CUresult cuInit(unsigned flags) {
	REQUIRE(!flags);
	if (setting("FAKE_CUDA_INIT", 0)) return setting("FAKE_CUDA_INIT", 0);
	int there = setting("FAKE_CUDA_DEVICES", 1), shown = there;
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	if (visible) {
		char list[256] = "", *rest;
		strncpy(list, visible, sizeof list - 1);
		shown = 0; // those before the first that is none
		for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest), shown++)
			if (strncmp(one, "GPU-", 4) && (*one < '0' || *one > '9' || atoi(one) >= there)) break;
	}
	if (shown < 1) return CUDA_ERROR_NO_DEVICE;
	return num_devices = shown < MAX_DEVICES ? shown : MAX_DEVICES, CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *v) { return *v = 12020, CUDA_SUCCESS; }

#define NAMED(e) {e, #e}
static const struct { CUresult value; const char *name; } names[] = {
	NAMED(CUDA_ERROR_OUT_OF_MEMORY), NAMED(CUDA_ERROR_INVALID_VALUE), NAMED(CUDA_ERROR_NOT_FOUND), NAMED(CUDA_ERROR_INVALID_PTX),
	NAMED(CUDA_ERROR_ILLEGAL_ADDRESS), NAMED(CUDA_ERROR_INVALID_HANDLE), NAMED(CUDA_ERROR_INVALID_CONTEXT), NAMED(CUDA_ERROR_CONTEXT_IS_DESTROYED),
	NAMED(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH), NAMED(CUDA_ERROR_NOT_READY), NAMED(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
	NAMED(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED), NAMED(CUDA_ERROR_STREAM_CAPTURE_ISOLATION), NAMED(CUDA_ERROR_CAPTURED_EVENT)};
CUresult cuGetErrorName(CUresult e, const char **name) {
	*name = "CUDA_ERROR_OTHER";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].value == e) *name = names[i].name;
	return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult e, const char **text) { return *text = e == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "described", CUDA_SUCCESS; }

CUresult cuDeviceGetCount(int *n) { LOCKED(); return *n = num_devices, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *d, int ordinal) { DEVICE(ordinal); return *d = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *name, int n, CUdevice d) { DEVICE(d); return strncpy(name, "emulated", n), CUDA_SUCCESS; }
CUresult cuDeviceTotalMem(size_t *n, CUdevice d) { DEVICE(d); return *n = setting("FAKE_CUDA_BYTES", 1 << 30), CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
	DEVICE(d);
	switch (a) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 8; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = 6; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 28; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *v = 102400; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 101376; break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *v = 3 << 20; break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *v = 1777000; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice d, unsigned flags) {
	DEVICE(d);
	REQUIRE(flags == CU_CTX_SCHED_BLOCKING_SYNC);
	if (contexts[d].references && contexts[d].flags != flags) return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
	return contexts[d].flags = flags, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { DEVICE(d); return contexts[d].references++, *c = &contexts[d], CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease(CUdevice d) {
	DEVICE(d);
	CUcontext c = &contexts[d], now = current;
	if (c->references < 1) return CUDA_ERROR_INVALID_CONTEXT;
	if (--c->references) return CUDA_SUCCESS;
	current = c;
	finish_all();
	current = now;
	int left = 0;
	for (range **at = &ranges; *at;) {
		if ((*at)->context != c) at = &(*at)->next;
		else left++, unmap(at);
	}
	if (left && !c->broken) fprintf(stderr, "emulated GPU: %d allocations were left on device %d\n", left, d);
	c->generation++;
	c->broken = CUDA_SUCCESS;
	c->used = 0;
	return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext c) { LOCKED(); return current = c, CUDA_SUCCESS; }

CUresult cuMemAlloc(CUdeviceptr *p, size_t n) {
	IN_CONTEXT();
	REQUIRE(n);
	if (n > (size_t)setting("FAKE_CUDA_BYTES", 1 << 30) - current->used) return CUDA_ERROR_OUT_OF_MEMORY;
	if (!(*p = (CUdeviceptr)map(n, 0))) return CUDA_ERROR_OUT_OF_MEMORY;
	return current->used += n, CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr p) {
	IN_CONTEXT();
	finish_all();
	range **at = find((void *)p, 1, 0);
	REQUIRE(at && (*at)->at == (char *)p);
	current->used -= (*at)->n;
	return unmap(at), CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t *available, size_t *total) {
	IN_CONTEXT();
	*total = setting("FAKE_CUDA_BYTES", 1 << 30);
	return *available = *total - current->used, CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) {
	IN_CONTEXT();
	REQUIRE(n && flags == CU_MEMHOSTALLOC_PORTABLE);
	return n < 1L << 40 && (*p = map(n, 1)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFreeHost(void *p) {
	IN_CONTEXT();
	range **at = find(p, 1, 1);
	REQUIRE(at && (*at)->at == p);
	if (waiting(*at)) {
		fprintf(stderr, "emulated GPU: page-locked memory is freed that a copy still uses\n");
		return current->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	return unmap(at), CUDA_SUCCESS;
}

// run_kernel runs the test's kernel, or one of the emulator's.
static void run_kernel(const op *o) {
	CUcontext c = o->f->module->h.context;
	static long run;
	if (++run == setting("FAKE_CUDA_FAULT", 0)) {
		c->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
		return;
	}
	if (!o->f->kernel) {
		const int *in, *numbers = (const int *)(o->args + 16);
		int *out;
		memcpy(&in, o->args, 8);
		memcpy(&out, o->args + 8, 8);
		CUcontext now = current;
		current = c;
		if (!find(in, 4 * numbers[0], 0) || !find(out, 4 * numbers[0], 0)) c->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
		current = now;
		for (int i = 0; i < numbers[0] && !c->broken; i++) out[i] = in[i] + numbers[1];
		return;
	}
	char message[2048] = "";
	struct emulator_launch l = {o->f->kernel, o->args, o->shared, 1, {o->grid[0], o->grid[1], o->grid[2]}, {o->block[0], o->block[1], o->block[2]}, message, sizeof message};
	if (run_emulated(&l)) {
		fprintf(stderr, "emulated GPU: %s\n", message);
		c->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
	}
}
// put adds work to a stream, or to its graph.
static CUresult put(CUstream s, const op *o) {
	LIVE(s);
	if (s->capture && s->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	append(s->capture ? &s->capture->work : &s->work, o);
	return CUDA_SUCCESS;
}
// copied is put for a copy with the host: of a graph, the memory must last.
static CUresult copied(CUdeviceptr device, void *host, int to_device, size_t n, CUstream s) {
	IN_CONTEXT();
	REQUIRE(n && host && find((void *)device, n, 0));
	LIVE(s);
	if (s->capture && !find(host, n, 1)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	op o = {.kind = 'c', .to = to_device ? (void *)device : host, .from = to_device ? host : (void *)device, .n = n};
	return put(s, &o);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr d, const void *h, size_t n, CUstream s) { return copied(d, (void *)h, 1, n, s); }
CUresult cuMemcpyDtoHAsync(void *h, CUdeviceptr d, size_t n, CUstream s) { return copied(d, h, 0, n, s); }
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
	IN_CONTEXT();
	REQUIRE(n && find((void *)to, n, 0) && find((void *)from, n, 0));
	op o = {.kind = 'c', .to = (void *)to, .from = (void *)from, .n = n};
	return put(s, &o);
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
	IN_CONTEXT();
	REQUIRE(peer && peer != current && !flags);
	return peer->references < 1 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext at, CUdeviceptr from, CUcontext peer, size_t n, CUstream s) {
	IN_CONTEXT();
	REQUIRE(n && at == current && peer && peer != current && find((void *)to, n, 0));
	if (peer->broken) return peer->broken;
	current = peer;
	range **there = find((void *)from, n, 0);
	current = at;
	REQUIRE(there);
	op o = {.kind = 'c', .to = (void *)to, .from = (void *)from, .n = n};
	return put(s, &o);
}
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) {
	IN_CONTEXT();
	REQUIRE(n && find((void *)d, n, 0));
	op o = {.kind = 's', .to = (void *)d, .n = n, .value = v};
	return put(s, &o);
}

CUresult cuStreamCreate(CUstream *s, unsigned flags) {
	IN_CONTEXT();
	REQUIRE(flags == CU_STREAM_NON_BLOCKING);
	*s = make(sizeof **s);
	(*s)->next = streams;
	return streams = *s, CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream s) {
	IN_CONTEXT();
	LIVE(s);
	REQUIRE(!s->capture);
	finish(s);
	return s->h.destroyed = 1, CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream s) {
	IN_CONTEXT();
	LIVE(s);
	if (s->capture) return s->capture->invalid = 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return finish(s), current->broken;
}
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags) {
	IN_CONTEXT();
	LIVE(s);
	LIVE(e);
	REQUIRE(e->records && !flags);
	if (e->capture != s->capture) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	op o = {.kind = 'w', .event = e, .record = e->records, .on = e->on};
	return s->capture ? CUDA_SUCCESS : put(s, &o);
}
CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) {
	IN_CONTEXT();
	LIVE(s);
	REQUIRE(!s->capture && mode == CU_STREAM_CAPTURE_MODE_RELAXED);
	return s->capture = make(sizeof *s->capture), CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) {
	IN_CONTEXT();
	LIVE(s);
	REQUIRE(s->capture);
	*g = s->capture->invalid ? NULL : s->capture;
	s->capture = NULL;
	return *g ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long flags) {
	IN_CONTEXT();
	LIVE(g);
	REQUIRE(!flags);
	*e = make(sizeof **e);
	return append_all(&(*e)->work, &g->work), CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph g) { IN_CONTEXT(); LIVE(g); return discard(&g->work), g->h.destroyed = 1, CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec e, CUstream s) {
	IN_CONTEXT();
	LIVE(e);
	LIVE(s);
	if (s->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	for (const op *o = e->work.first; o; o = o->next) {
		int lost = o->kind == 'k' && !usable(o->f->module);
		if (o->kind == 'c' || o->kind == 's') lost = (!find(o->to, o->n, 0) && !find(o->to, o->n, 1)) || (o->kind == 'c' && !find(o->from, o->n, 0) && !find(o->from, o->n, 1));
		if (lost) {
			fprintf(stderr, "emulated GPU: a graph is launched that uses freed memory or code\n");
			return current->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
		}
	}
	return append_all(&s->work, &e->work), CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec e) { IN_CONTEXT(); LIVE(e); return discard(&e->work), e->h.destroyed = 1, CUDA_SUCCESS; }

CUresult cuEventCreate(CUevent *e, unsigned flags) { IN_CONTEXT(); REQUIRE(flags == CU_EVENT_BLOCKING_SYNC); return *e = make(sizeof **e), CUDA_SUCCESS; }
CUresult cuEventDestroy(CUevent e) { IN_CONTEXT(); LIVE(e); return e->h.destroyed = 1, CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent e, CUstream s) {
	IN_CONTEXT();
	LIVE(e);
	LIVE(s);
	op o = {.kind = 'r', .event = e, .record = ++e->records, .on = s};
	e->on = s;
	e->capture = s->capture;
	return s->capture ? CUDA_SUCCESS : put(s, &o);
}
CUresult cuEventSynchronize(CUevent e) {
	IN_CONTEXT();
	LIVE(e);
	if (e->capture) return CUDA_ERROR_CAPTURED_EVENT;
	while (e->done < e->records && e->on->work.first) step(e->on);
	return current->broken;
}
CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
	IN_CONTEXT();
	LIVE(from);
	LIVE(to);
	REQUIRE(from->records && to->records && !from->capture && !to->capture);
	if (from->done < from->records || to->done < to->records) return CUDA_ERROR_NOT_READY;
	return *ms = to->at - from->at, CUDA_SUCCESS;
}

// open_kernels loads what the emulator has for a module, which the first line names.
static void *open_kernels(const char *ptx) {
	const char *dir = getenv("CHESSBRAIN_EMULATED_KERNELS");
	char path[4096], name[64];
	if (!dir || sscanf(ptx, "// %63[a-z0-9_].cu:", name) != 1) return NULL;
	snprintf(path, sizeof path, "%s/runtime.so", dir);
	void *runtime = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!runtime) return fprintf(stderr, "emulated GPU: %s\n", dlerror()), NULL;
	run_emulated = (int (*)(struct emulator_launch *))dlsym(runtime, "emulated_launch");
	describe_emulated = (void (*)(const void *, uint64_t *))dlsym(runtime, "emulated_describe");
	snprintf(path, sizeof path, "%s/%s.so", dir, name);
	void *kernels = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!kernels) fprintf(stderr, "emulated GPU: %s\n", dlerror());
	return kernels;
}
static CUresult load(CUmodule *m, const char *ptx) {
	IN_CONTEXT();
	void *kernels = open_kernels(ptx);
	if (!kernels && strncmp(ptx, ".version", 8)) return CUDA_ERROR_INVALID_PTX;
	*m = make(sizeof **m);
	return (*m)->kernels = kernels, CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule *m, const void *ptx) { return load(m, ptx); }
CUresult cuModuleLoadDataEx(CUmodule *m, const void *ptx, unsigned n, CUjit_option *options, void **values) {
	REQUIRE(n == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER && options[1] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES && (size_t)values[1] > 100);
	CUresult r = load(m, ptx);
	if (r != CUDA_SUCCESS) strcpy(values[0], "line 1: syntax error\n");
	return r;
}
CUresult cuModuleUnload(CUmodule m) {
	IN_CONTEXT();
	LIVE(m);
	finish_all();
	return m->h.destroyed = 1, CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	IN_CONTEXT();
	LIVE(m);
	void *kernel = m->kernels ? dlsym(m->kernels, name) : NULL;
	if (!kernel && (m->kernels || strcmp(name, "add"))) return CUDA_ERROR_NOT_FOUND;
	*f = calloc(1, sizeof **f);
	uint64_t sizes[2] = {24, 1024};
	if (kernel) describe_emulated(kernel, sizes);
	**f = (struct CUfunc_st){m, kernel, sizes[0], sizes[1], 49152};
	return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
	IN_CONTEXT();
	LIVE(f->module);
	REQUIRE(a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && v >= 0 && v <= 101376);
	return f->shared = v > 49152 ? v : 49152, CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
	IN_CONTEXT();
	LIVE(f->module);
	*v = a == CU_FUNC_ATTRIBUTE_NUM_REGS ? 8 : a == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? 0 : (int)f->threads;
	return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int threads, size_t shared) {
	IN_CONTEXT();
	LIVE(f->module);
	REQUIRE(threads > 0);
	return *n = 1536 / threads, CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra) {
	IN_CONTEXT();
	REQUIRE(f);
	LIVE(f->module);
	REQUIRE(gx > 0 && gx < 1u << 31 && gy > 0 && gy < 1 << 16 && gz > 0 && gz < 1 << 16);
	REQUIRE(bx > 0 && bx <= 1024 && by > 0 && by <= 1024 && bz > 0 && bz <= 64 && bx * by * bz <= f->threads && shared <= f->shared);
	REQUIRE(!params && extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER && extra[2] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[4] == CU_LAUNCH_PARAM_END);
	REQUIRE(*(size_t *)extra[3] == f->args && f->args <= MAX_ARGS);
	op o = {.kind = 'k', .f = f, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
	memcpy(o.args, extra[1], f->args);
	return put(s, &o);
}
