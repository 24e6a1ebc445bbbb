/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: the output's shape, and the input elements from
 * which an output element is computed.
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

/*
 * Reads the arguments of RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR; on failure sets the run's
 * message.
 */
enum nn_status nn_resize_prepare(const struct nn_run *r, struct nn_resize *v);

/*
 * Return the two input positions from which output position `o` is computed, and the weight of each
 * input position. The axis has `in` input positions and `out` output positions.
 */
struct nn_source nn_resize_bilinear(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);
struct nn_source nn_resize_nearest(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);

#endif /* NN_OPS_RESIZE_H */
