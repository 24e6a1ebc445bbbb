#version 450
/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolutions of floats.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "window_f.glsl"
#include "depthwise.glsl"
