/* SPDX-License-Identifier: MIT */
/*
 * Images: tensors of rank 4 that are NHWC or, by a flag, NCHW. Kernels work on
 * NHWC alone; this converts.
 */
#ifndef NN_OPS_IMAGE_H
#define NN_OPS_IMAGE_H

#include "ops/op.h"

struct nn_image {
	uint32_t n;
	uint32_t h;
	uint32_t w;
	uint32_t c;
};

/* Sizes of a tensor of rank 4. */
struct nn_image nn_image_of(const struct nn_tensor *t, bool nchw);

/* Gives an output rank 4 and these sizes. */
void nn_image_set(struct nn_tensor *t, bool nchw, const struct nn_image *image);

/* An input's elements as NHWC: its own data or a copy. NULL: no memory. */
const void *nn_image_input(struct nn_run *r, const struct nn_tensor *t, bool nchw);

/* Where to write an output as NHWC, whatever is there now. NULL: no memory. */
void *nn_image_output(struct nn_run *r, const struct nn_tensor *t, bool nchw);

/* Moves what was written there to where it belongs. */
void nn_image_finish(const struct nn_tensor *t, bool nchw, const void *nhwc);

/* A position between two neighbours on an axis. */
struct nn_source {
	uint32_t low;
	uint32_t high;
	float weight;		/* of high; low has the rest of 1 */
};

/* The four pixels around a point: their first elements in an NHWC image, and their weights. */
struct nn_corners {
	size_t at[4];
	float weight[4];
};

struct nn_corners nn_image_corners(const struct nn_image *image, uint32_t n,
				   const struct nn_source *y, const struct nn_source *x);

#endif /* NN_OPS_IMAGE_H */
