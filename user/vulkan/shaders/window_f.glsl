/* SPDX-License-Identifier: MIT */
/*
 * Windows of floats.
 */
#include "window.glsl"

#define NUMBER float
#define NUMBER4 vec4
#define IMAGE_TYPE TYPE
#define load load_float
#define zero_of(image) 0.0
#define finish(sum, channel, to, image)							\
	store_float(TYPE, to, clamp_float(sum + (p.has_bias != 0u ?			\
		load_float(TYPE, p.at[2] + (channel)) : 0.0), p.low, p.high))
