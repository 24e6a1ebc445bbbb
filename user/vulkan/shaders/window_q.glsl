/* SPDX-License-Identifier: MIT */
/*
 * Windows of bytes: accumulators are integers.
 */
#include "window.glsl"
#include "fixed.glsl"

#define NUMBER int
#define NUMBER4 ivec4
#define IMAGE_TYPE TYPE
#define load load_int
#define zero_of(image) p.in_zero
#define finish(sum, channel, to, image)							\
	store_int(TYPE, to, requantised(sum + (p.has_bias != 0u ?			\
		i32[p.at[2] + (channel)] : 0), channel))
