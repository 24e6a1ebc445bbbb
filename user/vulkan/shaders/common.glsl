/* SPDX-License-Identifier: MIT */
/*
 * What all shaders have: one buffer with all tensors, seen as each type, and their parameters.
 * A shader defines PARAMS before it includes this.
 */
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require

layout(set = 0, binding = 0) buffer Floats { float f32[]; };
layout(set = 0, binding = 0) buffer Fp16 { float16_t f16[]; };
layout(set = 0, binding = 0) buffer Ints { int i32[]; };
layout(set = 0, binding = 0) buffer Bytes { uint8_t u8[]; };
layout(set = 0, binding = 0) buffer SignedBytes { int8_t i8[]; };
layout(set = 0, binding = 1, std430) uniform Params { PARAMS } p;

/* The type is a constant in each call, so that one branch is left. */
float load_float(uint type, uint i)
{
	if (type == TYPE_F32)
		return f32[i];
	if (type == TYPE_F16)
		return float(f16[i]);
	if (type == TYPE_I32)
		return float(i32[i]);
	if (type == TYPE_U8)
		return float(uint(u8[i]));
	return float(int(i8[i]));
}

int load_int(uint type, uint i)
{
	if (type == TYPE_I32)
		return i32[i];
	if (type == TYPE_U8)
		return int(uint(u8[i]));
	return int(i8[i]);
}

void store_int(uint type, uint i, int value)
{
	if (type == TYPE_I32)
		i32[i] = value;
	else if (type == TYPE_U8)
		u8[i] = uint8_t(uint(value) & 255u);
	else
		i8[i] = int8_t(value);
}

void store_float(uint type, uint i, float value)
{
	if (type == TYPE_F32)
		f32[i] = value;
	else if (type == TYPE_F16)
		f16[i] = float16_t(value);
	else
		store_int(type, i, int(value));
}

/* A number that no comparison changes stays, NaN too. */
float clamp_float(float value, float low, float high)
{
	return value < low ? low : value > high ? high : value;
}

uint linear_index()
{
	return (gl_WorkGroupID.y * GROUPS_X + gl_WorkGroupID.x) * GROUP_SIZE +
	       gl_LocalInvocationID.x;
}
