/* SPDX-License-Identifier: MIT */
/*
 * Tensors as float: for operations that compute in float whatever the type is.
 */
#ifndef NN_OPS_FLOATS_H
#define NN_OPS_FLOATS_H

#include "ops/op.h"

/*
 * A private copy of a tensor's real values; types are TENSOR_FLOAT32 and the
 * quantised ones of 8 and 16 bits. NULL: no memory.
 */
float *nn_floats_read(struct nn_run *r, const struct nn_tensor *t);

/* The same without a copy of floats: for values that are read once, as they may change meanwhile. */
const float *nn_floats_view(struct nn_run *r, const struct nn_tensor *t);

/*
 * Writes real values to a tensor of type TENSOR_FLOAT32, or one of 8 bits or
 * TENSOR_QUANT16_ASYMM, for which it rounds and saturates them.
 */
void nn_floats_write(const struct nn_tensor *t, const float *values);

#endif /* NN_OPS_FLOATS_H */
