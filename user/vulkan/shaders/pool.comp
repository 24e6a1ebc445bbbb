#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Pooling of floats and bytes. An invocation computes an element of the output.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS WINDOW_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const uint WAY = POOL_AVERAGE;
layout(local_size_x = GROUP_SIZE) in;

const bool IS_FLOAT = TYPE == TYPE_F32 || TYPE == TYPE_F16;

void main()
{
	const uint i = linear_index(), channel = i % p.width, pixels = p.out_h * p.out_w;
	const uint pixel = i / p.width % pixels, image = i / p.width / pixels;
	const int y = int(pixel / p.out_w * p.stride_h) - p.head_h;
	const int x = int(pixel % p.out_w * p.stride_w) - p.head_w;
	const uint from = p.at[0] + image * p.in_image + channel * p.in_channel;
	const uint to = p.at[OUTPUT] + image * p.out_image + pixel * p.out_pixel +
			channel * p.out_channel;
	float sum = 0.0;
	int whole = 0, count = 0;

	if (image >= p.images)
		return;
	for (int at_y = max(y, 0); at_y < min(y + int(p.kernel_h), int(p.in_h)); at_y++) {
		for (int at_x = max(x, 0); at_x < min(x + int(p.kernel_w), int(p.in_w)); at_x++) {
			const uint at = from + uint(at_y * int(p.in_w) + at_x) * p.in_pixel;

			if (IS_FLOAT) {
				const float value = load_float(TYPE, at);

				if (WAY == POOL_MAX)
					sum = count == 0 || value > sum ? value : sum;
				else
					sum += WAY == POOL_L2 ? value * value : value;
			} else {
				const int value = load_int(TYPE, at);

				if (WAY == POOL_MAX)
					whole = count == 0 || value > whole ? value : whole;
				else
					whole += value;
			}
			count++;
		}
	}
	if (WAY != POOL_MAX) {
		sum /= float(count);
		whole = (whole + (whole > 0 ? count / 2 : -(count / 2))) / count;
	}
	if (WAY == POOL_L2)
		sum = sqrt(sum);
	if (IS_FLOAT)
		store_float(TYPE, to, clamp_float(sum, p.low, p.high));
	else
		store_int(TYPE, to, clamp(whole, p.low_q, p.high_q));
}
