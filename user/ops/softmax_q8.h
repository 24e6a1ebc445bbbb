/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of 8-bit values, for its operation and its fast kernel.
 */
#ifndef NN_OPS_SOFTMAX_Q8_H
#define NN_OPS_SOFTMAX_Q8_H

#include "ops/quant.h"

struct nn_softmax_q8 {
	/* 0x80 for signed types: after XOR with it, bytes are ordered like their values */
	uint8_t flip;
	/*
	 * The exponential for each difference from the maximum, as a fixed-point number without
	 * integer bits.
	 */
	int32_t exponentials[256];
	int32_t parts[256];		/* the same number with the integer bits of the sum */
};

/*
 * Computes the factor for differences: beta times the input's scale. Returns false if this product
 * is too small.
 */
bool nn_softmax_q8_factor(const struct nn_tensor *in, float beta, struct nn_multiplier *factor);

/* Fills the tables, from a factor of nn_softmax_q8_factor(). */
void nn_softmax_q8_init(struct nn_softmax_q8 *s, uint8_t flip, const struct nn_multiplier *factor);

/*
 * Computes the softmax of `size` elements that are `stride` elements apart. If other threads write
 * the input meanwhile, the output may be anything.
 */
void nn_softmax_q8(const struct nn_softmax_q8 *s, const uint8_t *in, uint8_t *out, size_t size,
		   size_t stride);

#endif /* NN_OPS_SOFTMAX_Q8_H */
