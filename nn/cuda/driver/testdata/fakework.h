// The memory and the queues of fakecuda.c. Work runs as late as CUDA allows: when a
// stream, an event or memory is waited for, in the order of its stream and after
// what that waits for. A buffer that is written again too early, or a wait that is
// missing, so gives wrong results every time. All of it is under one lock.
#pragma once
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_DEVICES = 4, MAX_ARGS = 4096, PAGE = 4096 };

struct CUctx_st {
	int references, generation;  // handles of an earlier generation are gone
	unsigned flags;
	CUresult broken;  // what a kernel left for all later calls
	size_t used;
};
// handle begins every struct that a program holds a pointer to.
typedef struct { CUcontext context; int generation, destroyed; } handle;

typedef struct op {
	int kind;  // c: copy, s: set, k: kernel, r: record, w: wait
	void *to;
	const void *from;
	size_t n;
	int value;
	CUfunction f;
	uint32_t grid[3], block[3], shared;
	char args[MAX_ARGS];
	CUevent event;  // of r and w, with the record of it that counts, and its stream
	long record;
	CUstream on;
	struct op *next;
} op;
typedef struct { op *first, **last; } queue;

struct CUmod_st { handle h; void *kernels; };  // of the emulator; null: that of the test
struct CUfunc_st { CUmodule module; void *kernel; size_t args, threads, shared; };
struct CUgraph_st { handle h; queue work; int invalid; };
struct CUgraphExec_st { handle h; queue work; };
struct CUstream_st { handle h; queue work; CUgraph capture; struct CUstream_st *next; };
struct CUevent_st { handle h; long records, done, at; CUstream on; CUgraph capture; };

typedef struct range {
	char *at, *map;
	size_t n, mapped;
	CUcontext context;
	int pinned;
	struct range *next;
} range;

static struct CUctx_st contexts[MAX_DEVICES];
static __thread CUcontext current;
static range *ranges;
static CUstream streams;
static long ticks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void run_kernel(const op *o);

static void *make(size_t n) {
	handle *h = calloc(1, n);
	h->context = current;
	h->generation = current->generation;
	return h;
}
// usable: handles are never freed, so that one that is used after its end is seen.
static int usable(const void *p) {
	const handle *h = p;
	return h && !h->destroyed && h->context == current && h->generation == current->generation;
}

// map gives memory that ends at a page which cannot be accessed, full of NaN.
static void *map(size_t n, int pinned) {
	size_t whole = (n + 255) / 256 * 256, mapped = (whole + PAGE - 1) / PAGE * PAGE + PAGE;
	char *m = mapped < n ? MAP_FAILED : mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED) return NULL;
	mprotect(m + mapped - PAGE, PAGE, PROT_NONE);
	range *r = malloc(sizeof *r);
	*r = (range){m + mapped - PAGE - whole, m, n, mapped, current, pinned, ranges};
	ranges = r;
	return memset(r->at, 0xff, n);
}
static void unmap(range **at) {
	range *r = *at;
	*at = r->next;
	munmap(r->map, r->mapped);
	free(r);
}
// find returns where the range is linked that holds n bytes at p, or null.
static range **find(const void *p, size_t n, int pinned) {
	for (range **at = &ranges; *at; at = &(*at)->next) {
		range *r = *at;
		if (r->pinned == pinned && (pinned || r->context == current) && (char *)p >= r->at && (size_t)((char *)p - r->at) <= r->n && n <= r->n - ((char *)p - r->at)) return at;
	}
	return NULL;
}

static void append(queue *q, const op *o) {
	op *kept = malloc(sizeof *kept);
	*kept = *o;
	kept->next = NULL;
	if (!q->first) q->last = &q->first;
	*q->last = kept;
	q->last = &kept->next;
}
static void append_all(queue *to, const queue *from) {
	for (const op *o = from->first; o; o = o->next) append(to, o);
}
static void discard(queue *q) {
	for (op *o = q->first, *next; o; o = next) {
		next = o->next;
		free(o);
	}
	q->first = NULL;
}

// step does the first piece of work of a stream, and before it what that waits for.
static void step(CUstream s) {
	op *o = s->work.first;
	if (!(s->work.first = o->next)) s->work.last = &s->work.first;
	if (o->kind == 'w')
		while (o->event->done < o->record && o->on->work.first) step(o->on);
	if (o->kind == 'r') {
		o->event->done = o->record;
		o->event->at = ++ticks;
	}
	if (!s->h.context->broken) {
		if (o->kind == 'c') memmove(o->to, o->from, o->n);
		if (o->kind == 's') memset(o->to, o->value, o->n);
		if (o->kind == 'k') run_kernel(o);
	}
	free(o);
}
static void finish(CUstream s) {
	while (s->work.first) step(s);
}
static void finish_all(void) {
	for (CUstream s = streams; s; s = s->next)
		if (s->h.context == current) finish(s);
}
// waiting says whether a copy that is not done yet uses a range.
static int waiting(const range *r) {
	for (CUstream s = streams; s; s = s->next)
		for (const op *o = s->work.first; o; o = o->next)
			if (o->kind == 'c' && (((char *)o->to >= r->at && (char *)o->to < r->at + r->n) || ((char *)o->from >= r->at && (char *)o->from < r->at + r->n))) return 1;
	return 0;
}
