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

/*
 * In the layout of isa.h that an instruction set wants: four bytes a column, pairs of 16 bits, or
 * eights. `to` is aligned to 64.
 */
void nn_pack_q8(const struct nn_pack_q8 *p, const struct nn_isa *isa, void *to);

/* The parameters of output channel `index` in lane `lane` of eight. */
void nn_pack_eight_q8(const struct nn_q8_channels *q, size_t index, int32_t bias,
		      struct nn_q8_eight *eight, size_t lane);

#endif /* NN_PLAN_KERNELS_PACK_Q8_H */
