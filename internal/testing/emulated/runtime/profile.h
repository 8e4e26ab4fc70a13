// The access profile: how a GPU's memory would serve the accesses of each warp,
// counted from their addresses alone. Kernels compiled with -fsanitize=thread report
// each access (races.h); those of a warp's lanes at one place in the code make
// requests, as on a GPU: the k-th of each lane since the warp's lanes last waited for
// each other belong together.
//
//   shared memory: 32 banks of 4 bytes. Accesses of up to 4 bytes go in one phase for
//   the warp, of 8 bytes in two of 16 lanes, of 16 bytes in four of 8 lanes; ldmatrix in
//   one a matrix, 8 rows of 16 bytes. A phase takes as many wavefronts as there are
//   different words in its fullest bank; the least is one a phase.
//
//   global memory: the sectors of 32 bytes that a request touches; the least is what
//   the bytes that it asks for would fill.
//
// Not seen: what caches save, and where nvcc makes other accesses of a line than the
// host's compiler does.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <unordered_map>

#include "state.h"

enum What { SHARED_READ, SHARED_WRITE, LDMATRIX, COPY_TO_SHARED, GLOBAL_READ, GLOBAL_WRITE };

// Profiled is what one place in the code did in a launch; profiled in profile.go mirrors it.
struct Profiled {
	uint64_t code;  // as an offset from the object's beginning
	uint32_t what, size;
	uint64_t requests, taken, least;  // of wavefronts or sectors
};

// Request is the accesses of one instruction of a warp.
struct Request {
	uint32_t lanes;
	uintptr_t at[WARP];
};

// Site is an instruction that accesses memory. The requests are those of a warp since
// its lanes last met; lane l is in the first made[l] of them.
struct Site {
	Profiled total;
	std::vector<Request> requests;
	size_t used;
	uint32_t made[WARP];
};

static struct {
	bool on;
	std::unordered_map<uint64_t, Site> sites;
	std::vector<Site*> met;  // sites that have requests
} profile;

static void start_profile() {
	profile.on = now.launch->profiled && now.kernel->checked;
	profile.sites.clear();
	profile.met.clear();
}

// wavefronts returns those of a phase: the words at, of that many bytes each, of the
// lanes from first on.
static uint64_t wavefronts(const Request& r, int first, int lanes, uint32_t size) {
	uintptr_t words[32];
	int count[32] = {}, n = 0, most = 0;
	for (int l = first; l < first + lanes; l++) {
		if (!(r.lanes >> l & 1)) continue;
		for (uintptr_t word = r.at[l] / 4; word <= (r.at[l] + size - 1) / 4; word++) {
			if (std::find(words, words + n, word) != words + n) continue;
			words[n++] = word;
			most = std::max(most, ++count[word % 32]);
		}
	}
	return (uint64_t)most;
}

static void count_shared(Profiled& p, const Request& r) {
	int lanes = p.size <= 4 ? WARP : p.size == 8 ? WARP / 2 : WARP / 4;
	for (int first = 0; first < WARP; first += lanes) {
		uint64_t n = wavefronts(r, first, lanes, p.size);
		p.taken += n;
		p.least += n > 0;
	}
}

static void count_global(Profiled& p, const Request& r) {
	struct {
		uintptr_t sector;
		uint32_t bytes;  // a bit each
	} touched[2 * WARP];
	int n = 0, bytes = 0;
	for (int l = 0; l < WARP; l++) {
		if (!(r.lanes >> l & 1)) continue;
		for (uintptr_t at = r.at[l], end = at + p.size; at < end;) {
			uint32_t skip = at % 32, length = std::min((uint32_t)(end - at), 32 - skip);
			int i = 0;
			while (i < n && touched[i].sector != at / 32) i++;
			if (i == n) touched[n++] = {at / 32, 0};
			touched[i].bytes |= ((uint32_t)((1ull << length) - 1)) << skip;
			at += length;
		}
	}
	for (int i = 0; i < n; i++) bytes += __builtin_popcount(touched[i].bytes);
	p.taken += n;
	p.least += (bytes + 31) / 32;
}

// profile_round counts the requests of a warp whose lanes meet or have returned.
static void profile_round() {
	for (Site* s : profile.met) {
		for (size_t i = 0; i < s->used; i++) {
			if (s->total.what >= GLOBAL_READ) count_global(s->total, s->requests[i]);
			else count_shared(s->total, s->requests[i]);
		}
		s->total.requests += s->used;
		s->used = 0;
		memset(s->made, 0, sizeof s->made);
	}
	profile.met.clear();
}

static What what_of(uintptr_t at, Kind kind) {
	if (kind == WARP_READ) return LDMATRIX;
	if (kind == COPY) return COPY_TO_SHARED;
	bool shared = at - (uintptr_t)emulated_shared < (size_t)(shared_memory_end - emulated_shared);
	if (shared) return kind == READ ? SHARED_READ : SHARED_WRITE;
	return kind == READ ? GLOBAL_READ : GLOBAL_WRITE;
}

// profile_access notes an access of the present thread: copies of whole structs as
// words of 8 bytes.
static void profile_access(uintptr_t at, size_t n, Kind kind, uintptr_t code) {
	if (at - (uintptr_t)arguments < sizeof arguments || at == (uintptr_t)&emulated_shared) return;  // constants on a GPU
	if (n > 16 || (n & (n - 1))) {
		for (size_t step; n; at += step, n -= step) profile_access(at, step = n % 8 ? n & -n : 8, kind, code);
		return;
	}
	What what = what_of(at, kind);
	Site& s = profile.sites[code << 3 | what];
	if (!s.total.size) s.total = {code, (uint32_t)what, (uint32_t)n, 0, 0, 0};
	int lane = number(now.fiber) % WARP;
	uint32_t k = s.made[lane]++;
	if (k == s.used) {
		if (!k) profile.met.push_back(&s);
		if (k == s.requests.size()) s.requests.emplace_back();
		s.requests[s.used++].lanes = 0;
	}
	s.requests[k].lanes |= 1u << lane;
	s.requests[k].at[lane] = at;
}

// finish_profile gives the host what was counted.
static void finish_profile() {
	Launch* l = now.launch;
	Dl_info object;
	if (!profile.on || !dladdr((const void*)now.kernel->run, &object)) return;
	for (auto& s : profile.sites) {
		if (l->num_profiled == l->max_profiled) return complain("it accesses memory at more than %llu places", (unsigned long long)l->max_profiled);
		Profiled p = s.second.total;
		p.code -= (uintptr_t)object.dli_fbase;
		l->profiled[l->num_profiled++] = p;
	}
}
