#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of float16, or of the floats of a relaxed model, by cooperative matrices.
 */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "params.h"
#include "window_f.glsl"
#include "factor_fp16.glsl"
#include "conv.glsl"
#include "matrix.glsl"
