/* SPDX-License-Identifier: MIT */
/*
 * Traits of operations, for passes over models and plans: the columns of ops.def. A line of ops.def
 * names the traits of its operation; those that it does not name are 0.
 */
#ifndef NN_OPS_TRAITS_H
#define NN_OPS_TRAITS_H

#include "ops/op.h"

/*
 * The kind of border around its image that an operation with a window can take over as its own
 * padding.
 */
enum nn_border {
	NN_BORDER_NONE,
	NN_BORDER_ZERO,		/* of zeros */
	NN_BORDER_LEAST,	/* a border whose values are not above any value of the image */
};

struct nn_traits {
	/*
	 * The arguments of a window (window.h): the number of tensors that precede them, and of
	 * those that only this operation has. Both numbers determine the positions of activation
	 * and layout.
	 */
	struct {
		uint8_t tensors;
		uint8_t own;
	} window;

	/*
	 * Positions of inputs of operations without a window; negative ones count from the end, 0
	 * means that the operation has no such input.
	 */
	int8_t activation;		/* the fused activation, whose value may be NONE */
	int8_t layout;			/* the flag that selects NCHW */

	/*
	 * NNAPI's FuseCode, if another operation can take this one as its fused activation;
	 * otherwise 0.
	 */
	uint8_t fused_code;

	/* Each output element depends on one element of each of the first `elementwise` inputs. */
	uint8_t elementwise;

	/*
	 * Kernels compute this operation, a product, in float16; or the operation is neutral: it
	 * works in float16 or float32, with at most one more rounding.
	 */
	bool is_narrow_product;
	bool is_neutral;

	/*
	 * The inputs that determine addresses do not affect the output's shape, and zeros are valid
	 * for them. They may be unknown until the operation runs, which then copies and checks
	 * them.
	 */
	bool determines_no_shape;
	/* values of inputs that are not `determining` also determine the output's shape */
	bool is_sized_by_values;

	bool sees_types;		/* for the same values, the result depends on their type */
	bool only_reshapes;		/* the output has the same bytes as input 0 */
	enum nn_border border;
	/*
	 * The operation adds a border to input 0. Input 1 has the border's widths; its value is 0
	 * or an input.
	 */
	bool pads;
	bool is_random;			/* see nn_op_varies() */

	bool takes_nchw;		/* kernels accept images in NCHW and in NHWC */
};

/* Returns the traits of a code, never NULL: operations outside of ops.def have none. */
const struct nn_traits *nn_traits(int32_t code);

/*
 * Returns whether an operation is random or an extension's, and so may compute different results
 * from the same inputs.
 */
bool nn_op_varies(const struct nn_op *op);

/* Returns the position of an operation's fused activation among its inputs, or 0. */
uint32_t nn_run_activation(const struct nn_run *r);

/* Returns the position of an operation's NCHW flag, or 0. Inputs may end before that position. */
uint32_t nn_operation_layout(const struct nn_subgraph *s, const struct nn_operation *o);

#endif /* NN_OPS_TRAITS_H */
