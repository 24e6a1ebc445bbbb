#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Floats become bytes by their range, as ops/dynamic.c has it, bit for bit. A work group computes
 * a row.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS QUANTISE_PARAMS
#include "common.glsl"
#include "divide.glsl"
#include "rows.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const bool IS_TENSOR = false;	/* all rows share one range */

/* NaN becomes the lowest one. */
float limited(float x, float low, float high)
{
	return x > low ? x < high ? x : high : low;
}

void main()
{
	const uint row = row_index(), ranges = p.at[1], scales = p.at[2] + 2u * row;
	const uint size = min(p.size, p.total - row * p.size);
	float low = 0.0, high = 0.0, scale = 1.0, factor = 0.0, zero = 128.0;

	if (!row_exists())
		return;
	if (IS_TENSOR) {
		for (uint i = gl_LocalInvocationID.x; i < p.count; i += GROUP_SIZE) {
			low = min(low, f32[ranges + 2u * i]);
			high = max(high, f32[ranges + 2u * i + 1u]);
		}
		high = combine_max(high);
		low = -combine_max(-low);
		if (high > low)
			scale = nn_divide(high - low, 255.0);
		zero = limited(roundEven(nn_divide(-low, scale)), 0.0, 255.0);
	} else {
		high = max(f32[ranges + 2u * row + 1u], -f32[ranges + 2u * row]);
		if (high > 0.0) {
			scale = nn_divide(high, 127.0);
			factor = nn_divide(127.0, high);
		}
	}
	for (uint i = gl_LocalInvocationID.x; i < size; i += GROUP_SIZE) {
		float x = load_float(TYPE, p.at[0] + row_start() + i * p.inner);

		if (IS_TENSOR) {
			x = roundEven(limited(nn_divide(x, scale), -zero, 255.0 - zero));
		} else {
			x = limited(x * factor, -127.0, 127.0);
			x = trunc(x + (x < 0.0 ? -DYNAMIC_HALF : DYNAMIC_HALF));
		}
		u8[p.at[OUTPUT] + row * p.size + i] = uint8_t(uint(int(x) + int(zero)));
	}
	if (gl_LocalInvocationID.x == 0u) {
		f32[scales] = scale;
		i32[scales + 1u] = int(zero);
	}
}
