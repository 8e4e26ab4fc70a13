// Accesses whose cost on a GPU is known, one a mode: driver/emulated/profile_test.go
// says what each takes.
#include "device.cuh"

struct ProfileArgs {
	float* global;  // 8192 floats
	int mode, step;
};

// profile_shared: reads of shared memory, 16 KiB, by a warp.
KERNEL(profile_shared, ProfileArgs, 64, 1) {
	int t = threadIdx.x, step = a.step;
	char* s = shared_memory();
	float* out = a.global + t * 4;
	switch (a.mode) {
	case 1: out[0] = *(const float*)(s + t * step); break;
	case 2: out[0] = (float)*(const uint16_t*)(s + t * step); break;
	case 3: {
		float2 v = *(const float2*)(s + t * step);
		out[0] = v.x + v.y;
		break;
	}
	case 4: {
		uint4 v = *(const uint4*)(s + t * step);
		out[0] = (float)(v.x + v.y + v.z + v.w);
		break;
	}
	case 5: *(float4*)(s + t * step) = make_float4(1.f, 2.f, 3.f, 4.f); break;
	case 6: {
		uint32_t r[4];
		load_matrix_x4(r, s + t * step);
		out[0] = (float)(r[0] + r[1] + r[2] + r[3]);
		break;
	}
	case 7:
		copy_async16(s + t * step, a.global + t * 4, true);
		commit_async();
		wait_async<0>();
		break;
	case 8: {  // different numbers of accesses: 32, 16, 8, 4, 2, 1 lanes
		float sum = 0.f;
		for (int i = 1; i <= 32; i *= 2)
			if (t % 32 < i) sum += *(const float*)(s + t * step);
		out[0] = sum;
		break;
	}
	case 9: {  // as many of each lane before a wait as after it: 8 lanes, then 24
		float sum = t % 32 < 8 ? *(const float*)(s + t * step) : 0.f;
		for (int i = 0; i < 2; i++) {
			sync_warp();
			if (t % 32 >= 8) sum += *(const float*)(s + t * step);
		}
		out[0] = sum;
		break;
	}
	}
}

// profile_global: reads of global memory by a warp, step in floats.
KERNEL(profile_global, ProfileArgs, 64, 1) {
	int t = threadIdx.x, step = a.step;
	float* s = (float*)shared_memory();
	const float* from = a.global + t * step;
	switch (a.mode) {
	case 1: s[t] = *from; break;
	case 2: s[t] = *(from + 1); break;
	case 3: {
		float4 v = *(const float4*)from;
		s[t] = v.x + v.y + v.z + v.w;
		break;
	}
	case 4: s[t] = (float)*(const uint8_t*)from; break;
	case 5: a.global[t * step] = 1.f; break;
	case 6: {
		copy_async16(s + t * 4, from, t % 2 == 0);
		commit_async();
		wait_async<0>();
		break;
	}
	}
}
