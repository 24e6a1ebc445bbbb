/* SPDX-License-Identifier: MIT */
/*
 * Functions for convolutions and FULLY_CONNECTED: checks of input, filter and bias, and conversion
 * of accumulators to quantised outputs.
 */
#ifndef NN_OPS_REQUANT_H
#define NN_OPS_REQUANT_H

#include "ops/check.h"
#include "ops/quant.h"

/*
 * Checks input 0, input 1 (filter), input 2 (bias) and output 0: all types, and the ranks of filter
 * and bias. `channel_dim` is the channel dimension of filters quantised per channel; if
 * `channel_dim` is negative, filters quantised per channel are rejected.
 */
enum nn_status nn_filter_check(const struct nn_check *c, uint32_t filter_rank,
			       int32_t channel_dim);

/*
 * Checks at run time that no dimension of the filter and of the input is 0, except dimension 0 of
 * the input. Checks that the scale of the bias is the product of the input's and the filter's
 * scales.
 */
enum nn_status nn_filter_infer(const struct nn_run *r);

/* The shape rule of FULLY_CONNECTED. */
enum nn_status nn_fully_connected_infer(struct nn_run *r);

struct nn_requant {
	const int32_t *bias;
	const struct nn_multiplier *multipliers;	/* multiplier of each output channel */
	int32_t zero;
	int32_t low;
	int32_t high;
};

/* Computes the multipliers of output channels [first, first + count). */
void nn_requant_multipliers(const struct nn_run *r, uint32_t first, uint32_t count,
			    struct nn_multiplier *multipliers);

/*
 * Initialises *q with the multipliers of `channels` output channels and the output range of the
 * activation, whose code is in input `activation`. Returns NN_OUT_OF_MEMORY if the multipliers
 * cannot be allocated.
 */
enum nn_status nn_requant_init(struct nn_requant *q, struct nn_run *r, uint32_t channels,
			       uint32_t activation);

/* Converts an accumulator, which is a sum modulo 2^32, to a stored output value. */
static inline uint8_t nn_requant(const struct nn_requant *q, uint32_t channel, uint32_t acc)
{
	int32_t sum = (int32_t)(acc + (uint32_t)q->bias[channel]);
	int64_t value = (int64_t)nn_quant_scale(sum, &q->multipliers[channel]) + q->zero;

	return (uint8_t)(value < q->low ? q->low : value > q->high ? q->high : value);
}

#endif /* NN_OPS_REQUANT_H */
