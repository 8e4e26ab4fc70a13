// Kernels that the race detector has to find, or to leave alone, one a mode: what
// they do is named in driver/emulated/races_test.go.
#include "device.cuh"

struct RaceArgs {
	float* global;      // 4096 floats
	const float* copied;  // 4096 floats
	int mode;
};

// Threads of one block in shared memory; 256 threads, 16 KiB.
KERNEL(race_shared, RaceArgs, 256, 1) {
	int t = threadIdx.x;
	float *s = (float*)shared_memory(), *out = a.global + 1024 * blockIdx.x;
	uint16_t* halves = (uint16_t*)s;
	uint8_t* bytes = (uint8_t*)s;
	switch (a.mode) {
	case 0: case 1:  // another warp's float
		s[t] = 1.f;
		if (a.mode) sync_threads();
		out[t] = s[255 - t];
		break;
	case 2: case 3:  // another lane's float
		s[t] = 1.f;
		if (a.mode == 3) sync_warp();
		out[t] = s[t ^ 1];
		break;
	case 4: case 5:  // written anew while others read
		s[t] = 1.f;
		sync_threads();
		out[t] = s[255 - t];
		if (a.mode == 5) sync_threads();
		s[t] = 2.f;
		break;
	case 6: s[t] = shuffle_xor((float)t, 1); out[t] = s[t ^ 1]; break;
	case 7:  // a shuffle orders no memory
		s[t] = (float)t;
		out[t] = shuffle_xor(1.f, 1);
		out[t] = s[t ^ 1];
		break;
	case 8:  // sync_warp is for the lanes of a warp only
		s[t] = 1.f;
		sync_warp();
		out[t] = s[255 - t];
		break;
	case 9: halves[t] = (uint16_t)t; break;  // neighbouring bytes are not the same
	case 10: bytes[t] = (uint8_t)t; sync_threads(); out[t] = s[t / 4]; break;
	case 11: halves[t] = (uint16_t)t; out[t] = s[t / 2]; break;  // half of the word is another's
	case 12: s[0] = 1.f; break;                                       // all write the same
	case 13: case 14:  // many readers of one float, then one of them writes it
		if (t == 0) s[0] = 1.f;
		sync_threads();
		out[t] = s[0];
		if (a.mode == 14) sync_threads();
		if (t == 200) s[0] = 2.f;
		break;
	case 15: case 16:  // the warps' first lanes alone read, ordered in the warp only, or not needed
		if (t < 32) s[t] = 1.f;
		sync_warp();
		if (t / 32 == (a.mode == 15 ? 1 : 0)) out[t] = s[31 - t % 32];
		break;
	case 17: case 18: {  // ldmatrix reads the rows of other lanes
		((uint4*)s)[t] = make_uint4(1, 2, 3, 4);
		if (a.mode == 18) sync_warp();
		uint32_t r[4];
		load_matrix_x4(r, (uint4*)s + t);
		out[t] = (float)r[0];
		break;
	}
	case 19: case 20: {  // and has not done so when it returns
		((uint4*)s)[t] = make_uint4(1, 2, 3, 4);
		sync_threads();
		uint32_t r[4];
		load_matrix_x4(r, (uint4*)s + t);
		if (a.mode == 20) sync_warp();
		((uint4*)s)[t] = make_uint4(r[0], r[1], r[2], r[3]);
		break;
	}
	case 21:  // a structure of 12 bytes, copied
		struct Three { float v[3]; };
		((volatile float*)s)[3 * t] = 1.f;
		*(Three*)(out + 3 * t) = *(Three*)(s + 3 * ((t + 1) % 256));
		break;
	}
}

// cp.async; 64 threads, each copying 16 bytes.
KERNEL(race_copy, RaceArgs, 64, 1) {
	int t = threadIdx.x;
	float *s = (float*)shared_memory(), *out = a.global + 1024 * blockIdx.x;
	const float* from = a.copied + 4 * t;
	switch (a.mode) {
	case 0: case 1:  // another thread's copy, waited for but not synchronised
		copy_async16(s + 4 * t, from, true);
		commit_async();
		wait_async<0>();
		if (a.mode) sync_threads();
		out[t] = s[4 * (63 - t)];
		break;
	case 2:  // synchronised, but not waited for
		copy_async16(s + 4 * t, from, true);
		commit_async();
		sync_threads();
		out[t] = s[4 * (63 - t)];
		wait_async<0>();
		break;
	case 3: case 4:  // its own, not waited for
		copy_async16(s + 4 * t, from, true);
		commit_async();
		if (a.mode == 4) wait_async<0>();
		out[t] = s[4 * t];
		break;
	case 5: case 6:  // into bytes that another warp still reads
		s[4 * t] = 1.f;
		sync_threads();
		out[t] = s[4 * (63 - t)];
		if (a.mode == 6) sync_threads();
		copy_async16(s + 4 * t, from, true);
		commit_async();
		wait_async<0>();
		break;
	case 7: case 8:  // the group before is waited for, the newest is not
		copy_async16(s + 4 * t, from, true);
		commit_async();
		copy_async16(s + 256 + 4 * t, from, false);
		commit_async();
		wait_async<1>();
		sync_threads();
		out[t] = s[(a.mode == 7 ? 256 : 0) + 4 * (63 - t)];
		wait_async<0>();
		break;
	case 9:  // a write under a copy
		copy_async16(s + 4 * t, from, true);
		commit_async();
		s[4 * t + 3] = 1.f;
		wait_async<0>();
		break;
	case 10:  // two copies to one place
		copy_async16(s + 4 * t, from, true);
		copy_async16(s + 4 * t, from + 4, true);
		commit_async();
		wait_async<0>();
		break;
	case 11: case 12: {  // ldmatrix of what the warp has copied
		copy_async16(s + 4 * t, from, true);
		commit_async();
		wait_async<0>();
		if (a.mode == 12) sync_warp();
		uint32_t r[4];
		load_matrix_x4(r, s + 4 * t);
		out[t] = (float)r[0];
		break;
	}
	case 13: copy_async16(s + 4 * t, from, true); break;  // never waited for, in every block
	}
}

// Blocks of 32 threads in global memory.
KERNEL(race_global, RaceArgs, 32, 1) {
	int t = threadIdx.x, block = blockIdx.x, i = block * 32 + t;
	volatile uint16_t* halves = (volatile uint16_t*)a.global;
	switch (a.mode) {
	case 0: a.global[t] = (float)block; break;  // one word by all blocks
	case 1: a.global[i] = a.copied[t]; break;
	case 2:  // what the next block writes
		a.global[1024 + i] = a.global[(i + 32) % 1024];
		a.global[i] = 1.f;
		break;
	case 3: halves[2 * t + block] = 1; break;  // two blocks, each its half of a word
	case 4:  // read by all, then written by the last
		a.global[1024 + i] = a.global[0];
		if (block == 3 && t == 5) a.global[0] = 1.f;
		break;
	case 5:  // within a block barriers order global memory, too
		a.global[i] = 1.f;
		sync_threads();
		a.global[1024 + i] = a.global[i ^ 1];
		break;
	case 6:
		a.global[i] = 1.f;
		a.global[1024 + i] = a.global[i ^ 1];
		break;
	case 7:  // an async copy reads what another block has written
		if (block == 0) copy_async16(shared_memory() + 16 * t, a.global + 4 * t, true);
		else a.global[4 * t + 3] = 1.f;
		commit_async();
		wait_async<0>();
		break;
	case 8: case 9:  // a whole row, by a call of memset
		if (t == 0) memset(a.global + (a.mode == 9 ? 256 * block : 0), 0, 1024);
		break;
	}
}
