#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Chains of elementwise operations on floats.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS ELEMENTWISE_PARAMS
#include "common.glsl"
#include "math.glsl"

layout(constant_id = 0) const uint TYPE_A = TYPE_F32;
layout(constant_id = 1) const uint TYPE_B = TYPE_F32;
layout(constant_id = 2) const uint TYPE_OUT = TYPE_F32;

#define NUMBER float
#define load load_float
#define store store_float


float step_of(uint op, float v, float o, float x, float y)
{
	switch (op) {
	case STEP_ADD: return v + o;
	case STEP_SUB: return v - o;
	case STEP_RSUB: return o - v;
	case STEP_MUL: return v * o;
	case STEP_DIV: return v / o;
	case STEP_RDIV: return o / v;
	case STEP_MAX: return v > o ? v : o;
	case STEP_MIN: return v < o ? v : o;
	case STEP_POW: return nn_pow(v, o);
	case STEP_RPOW: return nn_pow(o, v);
	case STEP_PRELU: return v >= 0.0 ? v : v * o;
	case STEP_EQUAL: return v == o ? 1.0 : 0.0;
	case STEP_NOT_EQUAL: return v != o ? 1.0 : 0.0;
	case STEP_LESS: return v < o ? 1.0 : 0.0;
	case STEP_LESS_EQUAL: return v <= o ? 1.0 : 0.0;
	case STEP_GREATER: return v > o ? 1.0 : 0.0;
	case STEP_GREATER_EQUAL: return v >= o ? 1.0 : 0.0;
	case STEP_CLAMP: return clamp_float(v, x, y);
	case STEP_ABS: return abs(v);
	case STEP_NEG: return -v;
	case STEP_FLOOR: return floor(v);
	case STEP_EXP: return nn_exp(v);
	case STEP_LOG: return nn_log(v);
	case STEP_SQRT: return sqrt(v);
	case STEP_RSQRT: return 1.0 / sqrt(v);
	case STEP_SIN: return nn_sin(v);
	case STEP_LOGISTIC: return 1.0 / (1.0 + nn_exp(-v));
	case STEP_TANH: return nn_tanh(v);
	case STEP_ELU: return v > 0.0 ? v : x * (nn_exp(v) - 1.0);
	case STEP_HARD_SWISH: return v * min(6.0, max(0.0, v + 3.0)) / 6.0;
	case STEP_QUANTIZE: return nn_round(nn_divide(v, x)) + y;
	default: return isnan(v) ? 0.0 : trunc(v);
	}
}

#include "elementwise.glsl"
