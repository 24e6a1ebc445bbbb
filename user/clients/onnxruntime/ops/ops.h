/* SPDX-License-Identifier: MIT */
/* The translators of operators; ops.def maps operators to them. */
#ifndef NN_ORT_OPS_H
#define NN_ORT_OPS_H

#include "../quantised.h"
#include "clients/lower/lowerings.h"

#define OP(name, first, last, translate) translator translate;
#include "ops.def"

/* ---- functions that several translators share ---- */

/* Returns whether the node in translation has this operator. */
bool is_node(struct lowering *t, const char *op);

/*
 * Reads kernel_shape, strides, dilations, pads and auto_pad, for an input of this shape. `size` is
 * the filter's, or NULL. With ceil_mode the tail grows so that the last window is complete.
 */
bool window_read(struct lowering *t, const struct shape *shape, const int64_t *size,
		 struct window *window);
/*
 * Reads the window of each of up to three axes into dimension 0 of one of `w`. The tail in
 * dimension 1 does not include the padding that ceil_mode adds.
 */
bool axes_read(struct lowering *t, const struct shape *shape, const int64_t *filter,
	       struct window w[3]);
/* Returns the shape of the output with this many channels. */
struct shape window_shape(const struct window *window, uint32_t channels);

/* Applies the attribute `activation` to x, if it is there. */
uint32_t activated(struct lowering *t, uint32_t x);
/* Adds an input that is broadcast to x. */
uint32_t plus_in(struct lowering *t, uint32_t x, const struct shape *shape, uint32_t index);

/*
 * The operand to move: 8-bit numbers if input and output have the same scale, otherwise the input.
 */
struct moved {
	bool quantised;
	bool is_bool;			/* the float form of the result */
	uint32_t x;
};

struct moved moved_in(struct lowering *t);
/* Sets output 0 to the elements, with the shape. */
void moved_out(struct lowering *t, struct moved m, const struct shape *shape);

/* Maximum number of elements; larger results are computed by the device. */
enum { MOST_FOLDED = 1 << 16 };

/*
 * Constant folding while a graph is translated. Returns the elements of an input if it is a small
 * constant, otherwise NULL; `size` is an element's size.
 */
const void *small_data_in(struct lowering *t, uint32_t index, size_t *size);
/* Picks the elements `at` these indices of an axis. Replaces `data` and `shape` by the result's. */
bool folded_picks(struct lowering *t, int axis, const int64_t *at, int64_t count,
		  const void **data, struct shape *shape);
/* Fold ADD, SUB, MUL or DIV of two integer constants, and a cast of one. */
bool folded_arithmetic(struct lowering *t, int32_t operation, const struct shape *shape);
bool folded_cast(struct lowering *t);

/* Computes a float GEMM, rows x inner by inner x columns; `b` is [columns, inner]. */
uint32_t product(struct lowering *t, uint32_t a, uint32_t b, uint32_t bias, uint32_t rows,
		 uint32_t columns);

/* Multiplies rows by input 1 [inner, columns] and adds input 2, if it is there. */
uint32_t product_in(struct lowering *t, uint32_t x, uint32_t rows, uint32_t inner,
		    uint32_t columns);

#endif
