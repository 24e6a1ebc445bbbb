/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "plan/kernels/quant8.h"

enum { BIAS = 2 };

/* Limit of the absolute value of accumulators, which are doubled and rounded in 32 bits. */
#define MAX_ACCUMULATOR (INT64_C(1) << 30)

static bool holds(int32_t bias, size_t depth)
{
	return llabs(bias) + (int64_t)depth * 255 * 255 < MAX_ACCUMULATOR;
}

bool nn_q8_prepare(struct nn_run *r, uint32_t channels, uint32_t activation, size_t depth,
		   struct nn_q8_output *out)
{
	struct nn_requant requant;

	if (depth >= MAX_ACCUMULATOR / (255 * 255) ||
	    nn_requant_init(&requant, r, channels, activation))
		return false;
	for (uint32_t i = 0; i < channels; i++)
		if (requant.multipliers[i].shift > 0 ||
		    !holds(requant.bias ? requant.bias[i] : 0, depth))
			return false;
	*out = (struct nn_q8_output){ requant.zero, requant.low, requant.high };
	return true;
}

bool nn_q8_channels(const struct nn_run *r, size_t first, size_t count, size_t depth,
		    struct nn_q8_channels *q)
{
	const int32_t *bias = (const int32_t *)r->inputs[BIAS].data + first;

	/*
	 * The biases are copied before they are checked, because other processes may change the
	 * original biases.
	 */
	memcpy(q->bias, bias, count * sizeof(*bias));
	for (size_t i = 0; i < count; i++)
		if (!holds(q->bias[i], depth))
			return false;
	nn_requant_multipliers(r, (uint32_t)first, (uint32_t)count, q->multipliers);
	return true;
}
