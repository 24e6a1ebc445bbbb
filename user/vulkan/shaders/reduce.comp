#version 450
/* SPDX-License-Identifier: MIT */
/*
 * One value for all elements along some axes, of floats, integers and bytes.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS ROWS_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const uint WAY = REDUCE_SUM;
layout(local_size_x = GROUP_SIZE) in;

const bool IS_FLOAT = TYPE == TYPE_F32 || TYPE == TYPE_F16;
const bool IS_ARG = WAY == REDUCE_ARGMAX || WAY == REDUCE_ARGMIN;
const bool IS_LEAST = WAY == REDUCE_MIN || WAY == REDUCE_ARGMIN;

/* The place of element `index` of axes [first, last). */
uint place(uint index, uint first, uint last)
{
	uint at = 0u;

	for (uint axis = last; axis-- > first;) {
		at += index % p.dims[axis] * p.moves[axis];
		index /= p.dims[axis];
	}
	return at;
}

void main()
{
	const uint o = linear_index(), start = p.at[0] + place(o, 0u, p.kept);
	float real = WAY == REDUCE_PROD ? 1.0 : 0.0;
	int whole = 0;
	uint where = 0u;

	if (o >= p.count)
		return;
	for (uint i = 0u; i < p.size; i++) {
		const uint at = start + place(i, p.kept, p.rank);

		if (IS_FLOAT) {
			float value = load_float(TYPE, at);

			if (IS_ARG && isnan(value))
				value = uintBitsToFloat(0xff800000u);
			if (WAY == REDUCE_SUM || WAY == REDUCE_MEAN) {
				real += value;
			} else if (WAY == REDUCE_PROD) {
				real *= value;
			} else if (i == 0u || (IS_LEAST ? value < real : value > real)) {
				real = value;
				where = i;
			}
		} else {
			const int value = load_int(TYPE, at);

			if (WAY == REDUCE_MEAN) {
				whole += value;
			} else if (i == 0u || (IS_LEAST ? value < whole : value > whole)) {
				whole = value;
				where = i;
			}
		}
	}
	if (WAY == REDUCE_MEAN) {
		real /= float(p.size);
		whole /= int(p.size);
	}
	if (IS_ARG)
		i32[p.at[OUTPUT] + o] = int(where);
	else if (IS_FLOAT)
		store_float(TYPE, p.at[OUTPUT] + o, real);
	else
		store_int(TYPE, p.at[OUTPUT] + o, whole);
}
