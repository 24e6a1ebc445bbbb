#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Normalisations of floats along rows. A work group computes a row.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS ROWS_PARAMS
#include "common.glsl"
#include "math.glsl"
#include "rows.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const uint WAY = NORM_L2;

float element(uint at, uint i)
{
	return load_float(TYPE, p.at[0] + at + i * p.inner);
}

/* The factor of element i, of what is around it. */
float response(uint at, uint i)
{
	const uint first = i > p.radius ? i - p.radius : 0u;
	const uint last = p.radius < p.size - i ? i + p.radius : p.size - 1u;
	float sum = 0.0;

	for (uint k = first; k <= last; k++)
		sum += element(at, k) * element(at, k);
	return nn_pow(p.x + p.y * sum, -p.z);
}

void main()
{
	const uint at = row_start();
	float mean = 0.0, part = 0.0, factor = 1.0;

	if (!row_exists())
		return;
	if (WAY == NORM_INSTANCE) {
		for (uint i = gl_LocalInvocationID.x; i < p.size; i += GROUP_SIZE)
			part += element(at, i);
		mean = combine_sum(part) / float(p.size);
		part = 0.0;
	}
	if (WAY != NORM_RESPONSE) {
		for (uint i = gl_LocalInvocationID.x; i < p.size; i += GROUP_SIZE)
			part += (element(at, i) - mean) * (element(at, i) - mean);
		part = combine_sum(part);
	}
	if (WAY == NORM_L2)
		factor = 1.0 / max(sqrt(part), 1e-6);
	if (WAY == NORM_INSTANCE)
		factor = p.x / sqrt(part / float(p.size) + p.z);
	for (uint i = gl_LocalInvocationID.x; i < p.size; i += GROUP_SIZE) {
		if (WAY == NORM_RESPONSE)
			factor = response(at, i);
		store_float(TYPE, p.at[OUTPUT] + at + i * p.inner,
			    (element(at, i) - mean) * factor + (WAY == NORM_INSTANCE ? p.y : 0.0));
	}
}
