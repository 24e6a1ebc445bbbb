/* SPDX-License-Identifier: MIT */
/*
 * Converts quantised operands to the form that the inner loops expect: unsigned inputs, signed
 * weights, and parameters of output channels.
 */
#ifndef NN_PLAN_KERNELS_QUANT8_H
#define NN_PLAN_KERNELS_QUANT8_H

#include "ops/op.h"
#include "ops/requant.h"
#include "plan/kernels/isa.h"

/*
 * Reads the parameters that all `channels` output channels share; each accumulator sums `depth`
 * products. Returns false if the inner loops would not be exact: a factor is 1 or more, or
 * accumulators may exceed 30 bits. If the bias is not constant, accumulators are checked later, by
 * nn_q8_channels().
 */
bool nn_q8_prepare(struct nn_run *r, uint32_t channels, uint32_t activation, size_t depth,
		   struct nn_q8_output *out);

/*
 * Maximum number of channels whose parameters are read at a time: the columns of the widest panel.
 */
#define NN_Q8_CHANNELS (NN_PANEL_VECTORS * NN_MAX_LANES)

struct nn_q8_channels {
	int32_t bias[NN_Q8_CHANNELS];
	struct nn_multiplier multipliers[NN_Q8_CHANNELS];
};

/*
 * Reads the parameters of channels [first, first + count). Returns false if accumulators may exceed
 * 30 bits.
 */
bool nn_q8_channels(const struct nn_run *r, size_t first, size_t count, size_t depth,
		    struct nn_q8_channels *q);

/* Converts a byte of a tensor to a signed byte, because the inner loops use signed weights. */
static inline int8_t nn_q8_signed(const struct nn_tensor *t, uint8_t byte)
{
	return (int8_t)(byte ^ (t->type == NN_TENSOR_QUANT8_ASYMM ? 0x80 : 0));
}

/* Returns the zero point of a tensor whose bytes were converted to signed bytes. */
static inline int32_t nn_q8_signed_zero(const struct nn_tensor *t)
{
	return t->zero_point - (t->type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0);
}

/*
 * Returns the term that rounds a 64-bit product before its upper half is shifted right. The term is
 * half a unit in the last place of the result, plus half a unit in the last place of the upper
 * half.
 */
static inline int64_t nn_q8_round(int32_t shift)
{
	return ((shift ? INT64_C(1) << (shift - 1) : 0) << 32) + (INT64_C(1) << 31);
}

#endif /* NN_PLAN_KERNELS_QUANT8_H */
