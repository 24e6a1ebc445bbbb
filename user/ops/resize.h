/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: shapes, and the source positions of outputs.
 */
#ifndef NN_OPS_RESIZE_H
#define NN_OPS_RESIZE_H

#include "ops/image.h"
#include "ops/op.h"

struct nn_resize {
	bool nchw;
	bool align;		/* corners are aligned with corners */
	bool half;		/* pixel centers are half a pixel from their corners */
	struct nn_image in;
	struct nn_image out;
};

/* Reads an operation of either kind; fails with a message of the run. */
enum nn_status nn_resize_prepare(const struct nn_run *r, struct nn_resize *v);

/*
 * Return the inputs, and their weights, from which output `o` is computed, on an axis of `in`
 * inputs and `out` outputs.
 */
struct nn_source nn_resize_bilinear(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);
struct nn_source nn_resize_nearest(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);

#endif /* NN_OPS_RESIZE_H */
