/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: output shapes, and which inputs an output element is
 * computed from.
 */
#ifndef NN_OPS_RESIZE_H
#define NN_OPS_RESIZE_H

#include "ops/image.h"
#include "ops/op.h"

struct nn_resize {
	bool nchw;
	bool align;		/* the corner pixels of input and output coincide */
	bool half;		/* the center of pixel i is at i + 1/2 */
	struct nn_image in;
	struct nn_image out;
};

/* Reads the arguments of either operation; on failure sets the run's message. */
enum nn_status nn_resize_prepare(const struct nn_run *r, struct nn_resize *v);

/*
 * Return the inputs that output `o` is computed from, and their weights, on an axis of `in` inputs
 * and `out` outputs.
 */
struct nn_source nn_resize_bilinear(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);
struct nn_source nn_resize_nearest(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);

#endif /* NN_OPS_RESIZE_H */
