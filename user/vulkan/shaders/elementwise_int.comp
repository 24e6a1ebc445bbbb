#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operations on integers, modulo 2^32.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS ELEMENTWISE_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE_A = TYPE_I32;
layout(constant_id = 1) const uint TYPE_B = TYPE_I32;
layout(constant_id = 2) const uint TYPE_OUT = TYPE_I32;

#define NUMBER int
#define load load_int
#define store store_int

int step_of(uint op, int v, int o, float x, float y)
{
	switch (op) {
	case STEP_ADD: return v + o;
	case STEP_SUB: return v - o;
	case STEP_MUL: return v * o;
	case STEP_MAX: return max(v, o);
	case STEP_MIN: return min(v, o);
	case STEP_EQUAL: return v == o ? 1 : 0;
	case STEP_NOT_EQUAL: return v != o ? 1 : 0;
	case STEP_LESS: return v < o ? 1 : 0;
	case STEP_LESS_EQUAL: return v <= o ? 1 : 0;
	case STEP_GREATER: return v > o ? 1 : 0;
	case STEP_GREATER_EQUAL: return v >= o ? 1 : 0;
	case STEP_CLAMP: return clamp(v, int(x), int(y));
	case STEP_ABS: return v < 0 ? -v : v;
	case STEP_NEG: return -v;
	default: return v;
	}
}

#include "elementwise.glsl"
