/* SPDX-License-Identifier: MIT */
/*
 * Multiplies the matrices in the last two axes of inputs 0 and 1. Inputs 2 and 3 tell whether the
 * matrices of inputs 0 and 1 are transposed.
 */
#ifndef NN_OPS_MATMUL_H
#define NN_OPS_MATMUL_H

#include "ops/op.h"

/*
 * A factor of a matrix product: the dimensions and strides of the factor's matrices after
 * transposing.
 */
struct nn_factor {
	uint32_t rows, columns;
	size_t row_step, column_step;
};

struct nn_factor nn_matmul_factor(const struct nn_run *r, uint32_t input);

/* Checks the shapes of both factors and sets the shape of output 0. */
enum nn_status nn_matmul_infer(struct nn_run *r);

/* Returns the offset, in elements, of the matrix in input `t` for batch `index` of the output. */
size_t nn_matmul_start(const struct nn_tensor *t, const struct nn_tensor *out, uint32_t index);

#endif /* NN_OPS_MATMUL_H */
