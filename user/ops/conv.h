/* SPDX-License-Identifier: MIT */
/*
 * The reference kernel of all convolutions that sum over channels. Each channel of an output pixel
 * is a sum of dot products. Each dot product multiplies a contiguous range of the input by a range
 * of the filter.
 */
#ifndef NN_OPS_CONV_H
#define NN_OPS_CONV_H

#include "ops/image.h"
#include "ops/window.h"

/*
 * A contiguous range of input elements, and the offset of the filter elements by which the range is
 * multiplied.
 */
struct nn_stretch {
	/* offset of the range from the group's first channel in the image */
	size_t in;
	size_t filter;		/* offset of the filter elements from the start of a filter */
	size_t length;
};

struct nn_conv {
	struct nn_window_args args;
	bool nchw;
	struct nn_image in;
	struct nn_image out;
	struct nn_window window;
	uint32_t groups;
	uint32_t depth;		/* number of input channels of a group */
	uint32_t width;		/* number of output channels of a group */
	/*
	 * Writes to `spans` the input ranges of the output pixel (y, x), at most one range for each
	 * tap. Returns the number of ranges.
	 */
	size_t (*spans)(const struct nn_conv *c, uint32_t y, uint32_t x, struct nn_stretch *spans);
};

/*
 * Reads and checks the arguments of a convolution with filters [output channels, h, w, depth] in
 * `groups` groups.
 */
enum nn_status nn_conv_prepare(const struct nn_run *r, int32_t groups, struct nn_conv *c);

/*
 * Reads and checks the arguments of a convolution or pooling. The operation's `kernels` begins with
 * a pointer to an nn_conv_prepare_fn.
 */
typedef enum nn_status nn_conv_prepare_fn(const struct nn_run *r, struct nn_conv *c);
enum nn_status nn_conv_read(const struct nn_run *r, struct nn_conv *c);

/* The shape rule of a convolution or pooling. */
enum nn_status nn_conv_infer(struct nn_run *r);

/* Computes output 0 from inputs 0 (images), 1 (one filter for each output channel) and 2 (bias). */
enum nn_status nn_conv_execute(struct nn_run *r);

#endif /* NN_OPS_CONV_H */
