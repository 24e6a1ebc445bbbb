/* SPDX-License-Identifier: MIT */
/* The translators of operators; ops.def says which is whose. */
#ifndef NN_ORT_OPS_H
#define NN_ORT_OPS_H

#include "../quantised.h"

#define OP(name, first, last, translate) translator translate;
#include "ops.def"
#undef OP

/* ---- what several of them share ---- */

/* Whether the node that is being translated is this one. */
bool is_node(struct lowering *t, const char *op);

/* Windows of convolutions and poolings, in two dimensions; a line is an image one row high. */
struct window {
	int spatial;			/* dimensions of the model: 1 or 2 */
	int64_t size[2], stride[2], dilation[2], head[2], tail[2];
	uint32_t batch, channels;
	uint32_t in[2], out[2];
};

/*
 * Reads kernel_shape, strides, dilations, pads and auto_pad, for an input of this shape. `size`
 * is the filter's, or NULL. With ceil_mode the tail grows so that the last window is whole.
 */
bool window_read(struct lowering *t, const struct shape *shape, const int64_t *size,
		 struct window *window);
/*
 * The windows of a pooling in three dimensions, one after the other: rows and columns of images
 * [batch * channels, depth], then the depth of [batch * channels, 1] images of [depth, pixels].
 */
bool windows_read(struct lowering *t, const struct shape *shape, struct window w[2]);
/* The shape of the output with so many channels. */
struct shape window_shape(const struct window *window, uint32_t channels);
/* The input as an image. */
uint32_t window_view(struct lowering *t, uint32_t x, const struct window *window);
/* Zeros around an image, of which a window has more than the NNAPI's windows may. */
uint32_t window_padded(struct lowering *t, uint32_t x, struct window *window);

/* The shape that is left of `shape` without or with 1 for the axes that are marked. */
struct shape reduced_shape(const struct shape *shape, const bool *marked, bool keep);
/*
 * A reduction (an OperationCode: MEAN, REDUCE_...) of any rank; the result has the shape of
 * reduced_shape() with `keep`, in the flat form.
 */
uint32_t reduced(struct lowering *t, int32_t type, uint32_t x, const struct shape *shape,
		 const bool *marked);

/*
 * Whether ADD, SUB or MUL takes these 8-bit operands for the quantised output of the node: the
 * NNAPI has no results that are too fine for their inputs.
 */
bool fits_quantised(struct lowering *t, int32_t type, uint32_t a, uint32_t b);

/* The mean or the greatest of each channel of an image, by a window as large as it. */
uint32_t global_pooled(struct lowering *t, int32_t type, uint32_t x, const struct shape *shape);

enum { MOST_FOLDED = 1 << 16 };		/* elements: larger constants are for the device */

/*
 * Constants that are folded while a graph is translated. The elements of an input that is one and
 * is small, NULL where it is not; `size` is that of an element.
 */
const void *small_data_in(struct lowering *t, uint32_t index, size_t *size);
/* Of such elements those at these places of an axis; data and shape become the result's. */
bool folded_picks(struct lowering *t, int axis, const int64_t *at, int64_t count,
		  const void **data, struct shape *shape);
/* ADD, SUB, MUL or DIV of two constants of integers, and a cast of one. */
bool folded_arithmetic(struct lowering *t, int32_t operation, const struct shape *shape);
bool folded_cast(struct lowering *t);

/* erf(x) of a float operand, within 2e-7; of |x|, where `magnitude` is |x|. */
uint32_t erf_of_magnitude(struct lowering *t, uint32_t magnitude);

/* rows x inner by inner x columns, float; `b` is [columns, inner]. */
uint32_t product(struct lowering *t, uint32_t a, uint32_t b, uint32_t bias, uint32_t rows,
		 uint32_t columns);

#endif
