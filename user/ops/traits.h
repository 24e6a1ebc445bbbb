/* SPDX-License-Identifier: MIT */
/*
 * Traits of operations, for passes over models and plans: the columns of ops.def. A line names the
 * traits that hold; the others are 0.
 */
#ifndef NN_OPS_TRAITS_H
#define NN_OPS_TRAITS_H

#include "ops/op.h"

/* The border around its image that an operation with a window can take as its own padding. */
enum nn_border {
	NN_BORDER_NONE,
	NN_BORDER_ZERO,		/* of zeros */
	NN_BORDER_LEAST,	/* a border of values that are not above any of the image */
};

struct nn_traits {
	/*
	 * The arguments of a window (window.h): the number of tensors before them, and the number
	 * of the operation's own arguments. They determine the positions of activation and layout.
	 */
	struct {
		uint8_t tensors;
		uint8_t own;
	} window;

	/* Inputs of operations without a window. Negative numbers count from the end, 0: none. */
	int8_t activation;		/* a fused activation, which may be NONE */
	int8_t layout;			/* the flag for images in NCHW */

	/* If the operation can be fused as an activation, its FuseCode of NNAPI; otherwise 0. */
	uint8_t fused_code;

	/* Each output element depends on one element of each of the first `elementwise` inputs. */
	uint8_t elementwise;

	/*
	 * Kernels compute this operation in float16 as a product; or the operation is neutral: it
	 * works in either type with at most one more rounding.
	 */
	bool is_narrow_product;
	bool is_neutral;

	/*
	 * Its inputs that determine addresses do not affect its shape, and zeros are valid. They
	 * may be unknown until the operation runs; then it copies and checks them.
	 */
	bool determines_no_shape;
	/* the values of its other inputs determine the output's shape */
	bool is_sized_by_values;

	bool sees_types;		/* the result depends on the type of the same values */
	bool only_reshapes;		/* the output has the bytes of input 0 */
	enum nn_border border;
	/* It adds a border to input 0: the widths are input 1, and the value is an input or 0. */
	bool pads;
	bool is_random;			/* see nn_op_varies() */

	bool takes_nchw;		/* kernels take images in NCHW as well as NHWC */
};

/* Returns the traits of a code, never NULL: operations outside of ops.def have none. */
const struct nn_traits *nn_traits(int32_t code);

/*
 * Returns whether an operation may compute different results from the same inputs: if it is random,
 * or an extension's.
 */
bool nn_op_varies(const struct nn_op *op);

/* Returns the input with the fused activation of an operation, or 0. */
uint32_t nn_run_activation(const struct nn_run *r);

/* Returns the input with the NCHW flag of an operation whose inputs may end before it, or 0. */
uint32_t nn_operation_layout(const struct nn_subgraph *s, const struct nn_operation *o);

#endif /* NN_OPS_TRAITS_H */
