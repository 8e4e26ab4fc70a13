// Four floats in one access of shared or global memory, from and to registers.
#pragma once

DEVICE void get_four(float* v, const float* memory) {
	float4 q = *(const float4*)memory;
	v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
}
DEVICE void put_four(float* memory, const float* v) { *(float4*)memory = make_float4(v[0], v[1], v[2], v[3]); }
