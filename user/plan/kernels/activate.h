/* SPDX-License-Identifier: MIT */
/*
 * Applies functions to floats in place, and maps the activation codes of recurrent layers to
 * functions.
 */
#ifndef NN_PLAN_KERNELS_ACTIVATE_H
#define NN_PLAN_KERNELS_ACTIVATE_H

#include "ops/quant.h"
#include "plan/kernels/isa.h"

/*
 * Two activation codes that only recurrent layers have, in addition to the codes of fused
 * activations. Code 0 means no activation.
 */
enum { NN_ACTIVATE_TANH = 4, NN_ACTIVATE_SIGMOID = 6 };

/* Applies the function `which` to `count` values. Only the function CLAMP uses `low` and `high`. */
static inline void nn_function_f32(const struct nn_isa *isa, enum nn_unary which, float *values,
				   size_t count, float low, float high)
{
	const struct nn_unary_f32 f = {
		.function = which,
		.count = count,
		.in = values,
		.out = values,
		.low = low,
		.high = high,
	};

	isa->unary_f32(&f);
}

static inline void nn_activate_f32(const struct nn_isa *isa, int32_t code, float *values,
				   size_t count)
{
	float low, high;

	if (code == NN_ACTIVATE_TANH) {
		nn_function_f32(isa, NN_UNARY_TANH, values, count, 0, 0);
	} else if (code == NN_ACTIVATE_SIGMOID) {
		nn_function_f32(isa, NN_UNARY_LOGISTIC, values, count, 0, 0);
	} else if (code) {
		nn_fused_range_float(code, &low, &high);
		nn_function_f32(isa, NN_UNARY_CLAMP, values, count, low, high);
	}
}

#endif /* NN_PLAN_KERNELS_ACTIVATE_H */
