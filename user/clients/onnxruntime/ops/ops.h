/* SPDX-License-Identifier: MIT */
/* The translators of operators; ops.def says which is whose. */
#ifndef NN_ORT_OPS_H
#define NN_ORT_OPS_H

#include "../quantised.h"
#include "clients/lower/lowerings.h"

#define OP(name, first, last, translate) translator translate;
#include "ops.def"

/* ---- what several of them share ---- */

/* Whether the node that is being translated is this one. */
bool is_node(struct lowering *t, const char *op);

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

/* rows x inner by inner x columns, float; `b` is [columns, inner]. */
uint32_t product(struct lowering *t, uint32_t a, uint32_t b, uint32_t bias, uint32_t rows,
		 uint32_t columns);

#endif
