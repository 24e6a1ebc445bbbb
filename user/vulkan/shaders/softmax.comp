#version 450
/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX and LOG_SOFTMAX of floats. A work group computes a row.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS ROWS_PARAMS
#include "common.glsl"
#include "math.glsl"
#include "rows.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const bool IS_LOG = false;

void main()
{
	const uint at = row_start();
	float part = uintBitsToFloat(0xff800000u), largest, sum;

	if (!row_exists())
		return;
	for (uint i = gl_LocalInvocationID.x; i < p.size; i += GROUP_SIZE)
		part = max(part, load_float(TYPE, p.at[0] + at + i * p.inner));
	largest = combine_max(part);
	part = 0.0;
	for (uint i = gl_LocalInvocationID.x; i < p.size; i += GROUP_SIZE)
		part += nn_exp((load_float(TYPE, p.at[0] + at + i * p.inner) - largest) * p.x);
	sum = combine_sum(part);
	if (IS_LOG)
		sum = nn_log(sum);
	for (uint i = gl_LocalInvocationID.x; i < p.size; i += GROUP_SIZE) {
		const float value = (load_float(TYPE, p.at[0] + at + i * p.inner) - largest) * p.x;

		store_float(TYPE, p.at[OUTPUT] + at + i * p.inner,
			    IS_LOG ? value - sum : nn_exp(value) / sum);
	}
}
