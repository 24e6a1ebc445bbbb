#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of floats that are quantised at run time, by integer dot products.
 */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_spirv_intrinsics : require
#include "params.h"
#include "window_d.glsl"
#include "factor_dot.glsl"
#include "conv.glsl"
#include "tile.glsl"
