/* SPDX-License-Identifier: MIT */
/*
 * Windows of floats.
 */
#define PARAMS WINDOW_PARAMS
#include "common.glsl"

#define NUMBER float
#define NUMBER4 vec4
#define load load_float
#define finish(sum, channel, to)							\
	store_float(TYPE, to, clamp_float(sum + (p.has_bias != 0u ?			\
		load_float(TYPE, p.at[2] + (channel)) : 0.0), p.low, p.high))
