/* SPDX-License-Identifier: MIT */
/* SOFTMAX of 8-bit values, used by the reference kernel and the fast kernel. */
#ifndef NN_OPS_SOFTMAX_Q8_H
#define NN_OPS_SOFTMAX_Q8_H

#include "ops/quant.h"

struct nn_softmax_q8 {
	/* 0x80 for int8, else 0: after XOR with `flip`, a larger byte stands for a larger value */
	uint8_t flip;
	/*
	 * The exponential of each possible difference from the maximum, as a fixed-point number
	 * without integer bits.
	 */
	int32_t exponentials[256];
	/* `exponentials`, converted to the fixed-point format of their sum */
	int32_t parts[256];
};

/*
 * Computes the factor by which differences from the maximum are multiplied: beta times the input's
 * scale. Returns false if the factor is too small to be encoded.
 */
bool nn_softmax_q8_factor(const struct nn_tensor *in, float beta, struct nn_multiplier *factor);

/* Fills the tables of exponentials for a factor from nn_softmax_q8_factor(). */
void nn_softmax_q8_init(struct nn_softmax_q8 *s, uint8_t flip, const struct nn_multiplier *factor);

/*
 * Computes the softmax of `size` elements that are `stride` elements apart. If other threads write
 * the input during the call, the output has arbitrary values.
 */
void nn_softmax_q8(const struct nn_softmax_q8 *s, const uint8_t *in, uint8_t *out, size_t size,
		   size_t stride);

#endif /* NN_OPS_SOFTMAX_Q8_H */
