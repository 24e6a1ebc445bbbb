#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Images in another size: of four neighbours with weights, or of the nearest one.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS RESIZE_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const bool IS_NEAREST = false;
layout(local_size_x = GROUP_SIZE) in;

void main()
{
	const uint i = linear_index(), channel = i % p.channels, x = i / p.channels % p.out_w;
	const uint y = i / p.channels / p.out_w % p.out_h, image = i / p.channels / p.out_w / p.out_h;
	const uint from = p.at[0] + image * p.in_image + channel * p.in_channel;
	const uint to = p.at[OUTPUT] + image * p.out_image + (y * p.out_w + x) * p.out_pixel +
			channel * p.out_channel;
	const uint row = p.at[1] + 3u * y, column = p.at[2] + 3u * x;
	const uint top = uint(i32[row]) * p.in_w, bottom = uint(i32[row + 1u]) * p.in_w;
	const uint left = uint(i32[column]), right = uint(i32[column + 1u]);
	const precise float down = f32[row + 2u], over = f32[column + 2u];
	precise float sum;

	if (i >= p.count)
		return;
	sum = load_float(TYPE, from + (top + left) * p.in_pixel);
	if (!IS_NEAREST) {
		sum = sum * ((1.0 - down) * (1.0 - over));
		sum = sum + load_float(TYPE, from + (top + right) * p.in_pixel) *
			    ((1.0 - down) * over);
		sum = sum + load_float(TYPE, from + (bottom + left) * p.in_pixel) *
			    (down * (1.0 - over));
		sum = sum + load_float(TYPE, from + (bottom + right) * p.in_pixel) *
			    (down * over);
	}
	store_float(TYPE, to, sum);
}
