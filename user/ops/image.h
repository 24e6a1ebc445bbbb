/* SPDX-License-Identifier: MIT */
/*
 * Images: tensors of rank 4 in NHWC or, if a flag is set, NCHW layout. Kernels use only the layout
 * NHWC; functions of image.h convert images from and to NHWC.
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

/* Returns the sizes of an image, which is a tensor of rank 4. */
struct nn_image nn_image_of(const struct nn_tensor *t, bool nchw);

/* Sets an output's rank to 4, and its dimensions to the sizes of an image. */
void nn_image_set(struct nn_tensor *t, bool nchw, const struct nn_image *image);

/*
 * Returns an input's elements in the layout NHWC: the input's own data, or a copy of an NCHW input.
 * Returns NULL if memory runs out.
 */
const void *nn_image_input(struct nn_run *r, const struct nn_tensor *t, bool nchw);

/*
 * Returns memory, with undefined contents, to which a kernel writes an output in the layout NHWC.
 * Returns NULL if memory runs out.
 */
void *nn_image_output(struct nn_run *r, const struct nn_tensor *t, bool nchw);

/*
 * Writes to an output the elements in the memory of nn_image_output(), in the output's own layout.
 */
void nn_image_finish(const struct nn_tensor *t, bool nchw, const void *nhwc);

/* A sampling position on an axis: between the adjacent elements `low` and `high`. */
struct nn_source {
	uint32_t low;
	uint32_t high;
	float weight;		/* weight of element `high`; element `low` has weight 1 - weight */
};

/*
 * The four pixels around a point: the offset of each pixel in an NHWC image, and the weight of each
 * pixel.
 */
struct nn_corners {
	size_t at[4];
	float weight[4];
};

struct nn_corners nn_image_corners(const struct nn_image *image, uint32_t n,
				   const struct nn_source *y, const struct nn_source *x);

#endif /* NN_OPS_IMAGE_H */
