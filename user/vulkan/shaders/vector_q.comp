#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Products of few rows of bytes.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "window_q.glsl"
#include "vector.glsl"
