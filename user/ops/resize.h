/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: shapes, and where an output lies in the input.
 */
#ifndef NN_OPS_RESIZE_H
#define NN_OPS_RESIZE_H

#include "ops/image.h"
#include "ops/op.h"

struct nn_resize {
	bool nchw;
	bool align;		/* corners lie on corners */
	bool half;		/* the middle of a pixel is half a pixel from its corner */
	struct nn_image in;
	struct nn_image out;
};

/* Of an operation of either kind; fails with a message of the run's. */
enum nn_status nn_resize_prepare(const struct nn_run *r, struct nn_resize *v);

/* Return the sources of output `o` of `out` on an axis, among `in` inputs. */
struct nn_source nn_resize_bilinear(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);
struct nn_source nn_resize_nearest(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);

#endif /* NN_OPS_RESIZE_H */
