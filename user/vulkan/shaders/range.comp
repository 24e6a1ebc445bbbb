#version 450
/* SPDX-License-Identifier: MIT */
/*
 * The least and the largest number of each row and 0. A work group computes a row.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS QUANTISE_PARAMS
#include "common.glsl"
#include "rows.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;

void main()
{
	const uint at = p.at[0] + row_start(), to = p.at[OUTPUT] + 2u * row_index();
	float low = 0.0, high = 0.0;

	if (!row_exists())
		return;
	for (uint i = gl_LocalInvocationID.x; i < min(p.size, p.total - row_index() * p.size);
	     i += GROUP_SIZE) {
		const float x = load_float(TYPE, at + i * p.inner);

		low = x < low ? x : low;
		high = x > high ? x : high;
	}
	high = combine_max(high);
	low = -combine_max(-low);
	if (gl_LocalInvocationID.x == 0u) {
		f32[to] = low;
		f32[to + 1u] = high;
	}
}
