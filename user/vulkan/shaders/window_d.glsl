/* SPDX-License-Identifier: MIT */
/*
 * Windows of floats that quantise.comp made bytes, with weights of bytes: the operations DYNAMIC_*.
 */
#include "window.glsl"

#define IMAGE_TYPE TYPE_U8
#define NUMBER int
#define NUMBER4 ivec4
#define load load_int
#define zero_of(image) i32[p.at[3] + 2u * ((image) / p.row_size) + 1u]

/* Tensor 3 has the scale and the zero point of each row, tensor 4 the scales of the weights. */
void finish(int sum, uint channel, uint to, uint image)
{
	const float scale = f32[p.at[3] + 2u * (image / p.row_size)];
	precise float value = float(sum) * (scale * f32[p.at[4] + channel]);

	if (p.has_bias != 0u)
		value = value + load_float(TYPE, p.at[2] + channel);
	store_float(TYPE, to, clamp_float(value, p.low, p.high));
}
