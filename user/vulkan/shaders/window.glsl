/* SPDX-License-Identifier: MIT */
/*
 * What convolutions and products have.
 */
#define PARAMS WINDOW_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const uint TYPE_FILTER = TYPE_F32;
