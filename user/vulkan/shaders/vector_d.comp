#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of few rows of floats that became bytes.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "window_d.glsl"
#include "vector.glsl"
