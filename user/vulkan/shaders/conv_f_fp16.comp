#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of float16, or of the floats of a relaxed model.
 */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "params.h"
#include "window_f.glsl"
#include "factor_fp16.glsl"
#include "conv.glsl"
#include "tile.glsl"
