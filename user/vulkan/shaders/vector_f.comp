#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of few rows of floats.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "window_f.glsl"
#include "vector.glsl"
