#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Operations on bytes as tables: tensor 2 has the result for each byte of tensor 0, or for each pair.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS ELEMENTWISE_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE_OUT = TYPE_U8;
layout(local_size_x = GROUP_SIZE) in;

void main()
{
	const uint i = linear_index();
	uint from[2] = uint[](p.at[0], p.at[1]), rest = i, entry;

	if (i >= p.count)
		return;
	for (uint axis = p.rank - 1u; axis > 0u; axis--) {
		const uint k = rest % p.dims[axis];

		rest /= p.dims[axis];
		from[0] += k * p.moves[axis];
		from[1] += k * p.moves[MAX_AXES + axis];
	}
	from[0] += rest * p.moves[0];
	from[1] += rest * p.moves[MAX_AXES];
	entry = uint(u8[from[0]]);
	if (p.num_operands > 0u)
		entry = 256u * entry + uint(u8[from[1]]);
	if (TYPE_OUT == TYPE_U8)
		u8[p.at[OUTPUT] + i] = u8[p.at[2] + entry];
	else
		store_float(TYPE_OUT, p.at[OUTPUT] + i, f32[p.at[2] + entry]);
}
