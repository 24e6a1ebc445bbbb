#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Elements of one strided view become those of another.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS COPY_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_I32;
layout(local_size_x = GROUP_SIZE) in;

void main()
{
	const uint i = linear_index();
	int from = int(p.at[0]) + p.from, to = int(p.at[OUTPUT]) + p.to;
	uint rest = i;

	if (i >= p.count)
		return;
	for (uint axis = max(p.rank, 1u) - 1u; axis > 0u; axis--) {
		const int k = int(rest % p.dims[axis]);

		rest /= p.dims[axis];
		from += k * p.from_moves[axis];
		to += k * p.to_moves[axis];
	}
	from += int(rest) * p.from_moves[0];
	to += int(rest) * p.to_moves[0];
	if (TYPE == TYPE_F16)
		f16[to] = f16[from];
	else if (TYPE == TYPE_U8)
		u8[to] = u8[from];
	else
		i32[to] = i32[from];
}
