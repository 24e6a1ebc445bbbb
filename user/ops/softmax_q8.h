/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of bytes, for its operation and its fast kernel.
 */
#ifndef NN_OPS_SOFTMAX_Q8_H
#define NN_OPS_SOFTMAX_Q8_H

#include "ops/quant.h"

struct nn_softmax_q8 {
	uint8_t flip;			/* 0x80 for signed bytes: then their order is that of values */
	int32_t exponentials[256];	/* by distance from the largest value, no integer bits */
	int32_t parts[256];		/* the same with the integer bits of their sum */
};

/* The factor of distances: beta times the input's scale. False: that is too small. */
bool nn_softmax_q8_factor(const struct nn_tensor *in, float beta, struct nn_multiplier *factor);

/* Fills the tables, from a factor as nn_softmax_q8_factor() makes them. */
void nn_softmax_q8_init(struct nn_softmax_q8 *s, uint8_t flip, const struct nn_multiplier *factor);

/*
 * A lane of `size` bytes, one in `stride`. The input may be memory that others write: then the
 * output may be anything.
 */
void nn_softmax_q8(const struct nn_softmax_q8 *s, const uint8_t *in, uint8_t *out, size_t size,
		   size_t stride);

#endif /* NN_OPS_SOFTMAX_Q8_H */
