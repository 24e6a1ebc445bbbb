#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of floats that are quantised at run time.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "window_d.glsl"
#include "factor_same.glsl"
#include "conv.glsl"
#include "tile.glsl"
