/* SPDX-License-Identifier: MIT */
/*
 * Packs the quantised weights of a matrix product.
 */
#ifndef NN_PLAN_KERNELS_PACK_Q8_H
#define NN_PLAN_KERNELS_PACK_Q8_H

#include "plan/kernels/quant8.h"

/* Rows of weights are columns of the product, with parameters `q` each. */
struct nn_pack_q8 {
	const struct nn_tensor *x;
	const struct nn_tensor *weights;
	const struct nn_q8_channels *q;
	size_t columns;
	size_t depth;
	size_t lanes;
};

/* The layouts that isa.h tells: four bytes a column, pairs of 16 bits, eights; aligned to 64. */
void nn_pack_bytes_q8(const struct nn_pack_q8 *p, void *to);
void nn_pack_pairs_q8(const struct nn_pack_q8 *p, void *to);
void nn_pack_eights_q8(const struct nn_pack_q8 *p, size_t group, void *to);

/* The parameters of output channel `index` in lane `lane` of eight. */
void nn_pack_eight_q8(const struct nn_q8_channels *q, size_t index, int32_t bias,
		      struct nn_q8_eight *eight, size_t lane);

#endif /* NN_PLAN_KERNELS_PACK_Q8_H */
