/* SPDX-License-Identifier: MIT */
/* Converts tensors from and to float, for operations that compute in float for every type. */
#ifndef NN_OPS_FLOATS_H
#define NN_OPS_FLOATS_H

#include "ops/op.h"

/*
 * Returns a private copy of a tensor's real values, or NULL if memory runs out. The type of the
 * tensor must be TENSOR_FLOAT32 or a quantised type of 8 or 16 bits.
 */
float *nn_floats_read(struct nn_run *r, const struct nn_tensor *t);

/*
 * Returns a tensor's real values like nn_floats_read(), but returns the data of a TENSOR_FLOAT32
 * itself, not a copy. The caller must read each value only once, because other processes may change
 * the values.
 */
const float *nn_floats_view(struct nn_run *r, const struct nn_tensor *t);

/*
 * Writes real values to a tensor of type TENSOR_FLOAT32, TENSOR_QUANT16_ASYMM or an 8-bit quantised
 * type. For a quantised tensor, the values are rounded and saturated.
 */
void nn_floats_write(const struct nn_tensor *t, const float *values);

#endif /* NN_OPS_FLOATS_H */
