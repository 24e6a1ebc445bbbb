/* SPDX-License-Identifier: MIT */
/*
 * Quantised bytes as the inner loops want them: unsigned inputs, signed
 * weights, and parameters of output channels.
 */
#include <stdlib.h>

#include "plan/kernels/quant8.h"

/* Largest |accumulator| that can be doubled, and rounded, in 32 bits. */
#define MAX_ACCUMULATOR (INT64_C(1) << 30)

bool nn_q8_channels(struct nn_run *r, uint32_t channels, uint32_t activation, size_t depth,
		    struct nn_q8_channels *q)
{
	struct nn_requant requant;

	if (depth >= MAX_ACCUMULATOR / (255 * 255) ||
	    nn_requant_init(&requant, r, channels, activation))
		return false;
	for (uint32_t i = 0; i < channels; i++) {
		int64_t bias = requant.bias[i];

		if (requant.multipliers[i].shift > 0 ||
		    llabs(bias) + (int64_t)depth * 255 * 255 >= MAX_ACCUMULATOR)
			return false;
	}
	*q = (struct nn_q8_channels){
		.bias = requant.bias,
		.multipliers = requant.multipliers,
		.out = { requant.zero, requant.low, requant.high },
	};
	return true;
}
