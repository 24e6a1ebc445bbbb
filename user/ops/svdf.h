/* SPDX-License-Identifier: MIT */
/*
 * Shapes of the operation SVDF, for its kernels.
 */
#ifndef NN_OPS_SVDF_H
#define NN_OPS_SVDF_H

#include "ops/op.h"

/* Inputs of SVDF. */
enum nn_svdf_input {
	NN_SVDF_INPUT, NN_SVDF_FEATURE, NN_SVDF_TIME, NN_SVDF_BIAS, NN_SVDF_STATE, NN_SVDF_RANK,
	NN_SVDF_ACTIVATION,
};

/*
 * SVDF's sizes: `filters` is `units` times `rank`. The state has the last `memory` outputs of each
 * filter.
 */
struct nn_svdf {
	uint32_t batch;
	uint32_t size;			/* number of elements of an input */
	uint32_t filters;
	uint32_t memory;
	uint32_t units;
	uint32_t rank;
};

/* Reads the sizes of an SVDF operation; fails if the sizes are inconsistent. */
enum nn_status nn_svdf_shape(const struct nn_run *r, struct nn_svdf *s);

#endif /* NN_OPS_SVDF_H */
