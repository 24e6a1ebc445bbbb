#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Slices by their indices, which the engine has checked.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS GATHER_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_I32;
layout(local_size_x = GROUP_SIZE) in;

void main()
{
	const uint i = linear_index(), slice = i / p.inner, outer = slice / p.indices;
	const uint to = p.at[OUTPUT] + i;
	uint from;

	if (i >= p.count)
		return;
	from = uint(clamp(i32[p.at[1] + slice % p.indices], 0, int(p.size) - 1));
	from = p.at[0] + (outer * p.size + from) * p.inner + i % p.inner;
	if (TYPE == TYPE_F16)
		f16[to] = f16[from];
	else if (TYPE == TYPE_U8)
		u8[to] = u8[from];
	else
		i32[to] = i32[from];
}
