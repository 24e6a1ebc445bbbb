/* SPDX-License-Identifier: MIT */
/* The translators of operators. ops.def maps each operator to its translator. */
#ifndef NN_ORT_OPS_H
#define NN_ORT_OPS_H

#include "../quantised.h"
#include "clients/lower/lowerings.h"

#define OP(name, first, last, translate) translator translate;
#include "ops.def"

/* ---- functions that several translators share ---- */

/* Returns whether the node in translation has the operator `op`. */
bool is_node(struct lowering *t, const char *op);
/*
 * Rejects an 8-bit tensor with a scale or zero point. ONNX computes with the stored numbers, the
 * NNAPI with the numbers that they stand for.
 */
void refuse_scaled(struct lowering *t, uint32_t x);

/*
 * Reads kernel_shape, strides, dilations, pads and auto_pad, for an input of shape `shape`. `size`
 * is the filter's size, or NULL. With ceil_mode, the padding at the end is enlarged so that the
 * last window is complete.
 */
bool window_read(struct lowering *t, const struct shape *shape, const int64_t *size,
		 struct window *window);
/*
 * Reads the windows of up to three axes. Dimension 0 of `w[k]` describes axis k, with the padding
 * that ceil_mode adds. The field tail[1] of `w[k]` is the padding at the end of axis k without the
 * padding that ceil_mode adds.
 */
bool axes_read(struct lowering *t, const struct shape *shape, const int64_t *filter,
	       struct window w[3]);
/* Returns the shape of the output, which has `channels` channels. */
struct shape window_shape(const struct window *window, uint32_t channels);

/*
 * Applies the activation that the attribute `activation` names to x; returns x if the node lacks
 * the attribute.
 */
uint32_t activated(struct lowering *t, uint32_t x);
/* Adds input `index`, which is broadcast to the shape of x. */
uint32_t plus_in(struct lowering *t, uint32_t x, const struct shape *shape, uint32_t index);

/*
 * The operand whose elements a node moves: the 8-bit input if input and output have the same scale,
 * otherwise the float input.
 */
struct moved {
	bool quantised;
	bool is_bool;	/* true: the elements are bools that were converted to floats */
	uint32_t x;
};

struct moved moved_in(struct lowering *t);
/* Sets output 0 to the moved elements in the shape `shape`. */
void moved_out(struct lowering *t, struct moved m, const struct shape *shape);

/*
 * Maximum number of elements of a result that is computed during translation; the device computes
 * larger results.
 */
enum { MOST_FOLDED = 1 << 16 };

/*
 * Constant folding while a graph is translated. Returns the elements of an input if it is a small
 * constant, otherwise NULL; `size` is an element's size.
 */
const void *small_data_in(struct lowering *t, uint32_t index, size_t *size);
/*
 * Picks the elements at the indices `at` of an axis. Replaces *data and *shape by the picked
 * elements and their shape.
 */
bool folded_picks(struct lowering *t, int axis, const int64_t *at, int64_t count,
		  const void **data, struct shape *shape);
/* Fold ADD, SUB, MUL, DIV or a comparison of two integer constants, and a cast of an integer constant. */
bool folded_arithmetic(struct lowering *t, int32_t operation, const struct shape *shape);
bool folded_cast(struct lowering *t);
/*
 * Fold a product of all elements, an expansion or a transpose of an integer constant, and Where of
 * three constants. Dimension i of a transpose is dimension order[i] of the constant.
 */
bool folded_product(struct lowering *t, const struct shape *shape);
bool folded_expand(struct lowering *t, const struct shape *shape);
bool folded_transpose(struct lowering *t, const int *order, const struct shape *shape);
bool folded_choice(struct lowering *t);

/*
 * Dequantises `count` numbers of a constant. A scale, and a zero point unless `zeros` is NULL, is for
 * `inner` adjacent numbers. Returns NULL if memory runs out.
 */
float *dequantised_floats(struct lowering *t, int type, const void *data, int64_t count,
			  const float *scales, const void *zeros, int64_t scale_count, int64_t inner);

/* Computes a float GEMM, rows x inner by inner x columns; `b` is [columns, inner]. */
uint32_t product(struct lowering *t, uint32_t a, uint32_t b, uint32_t bias, uint32_t rows,
		 uint32_t columns);

/*
 * Multiplies x [rows, inner] by input 1 [inner, columns] and adds input 2, unless input 2 is
 * missing.
 */
uint32_t product_in(struct lowering *t, uint32_t x, uint32_t rows, uint32_t inner,
		    uint32_t columns);

#endif
