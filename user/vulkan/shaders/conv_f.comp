#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of floats: convolutions, FULLY_CONNECTED and BATCH_MATMUL.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "window_f.glsl"
#include "factor_same.glsl"
#include "conv.glsl"
#include "tile.glsl"
