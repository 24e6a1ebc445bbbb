#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolutions of bytes.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "window_q.glsl"
#include "depthwise.glsl"
