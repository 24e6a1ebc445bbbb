/* SPDX-License-Identifier: MIT */
/*
 * Traits of operations, for passes over models and plans: the columns of ops.def. A line of ops.def
 * names only those traits of its operation that are not 0.
 */
#ifndef NN_OPS_TRAITS_H
#define NN_OPS_TRAITS_H

#include "ops/op.h"

/* The kind of border that a windowed operation can take over from a PAD as its own padding. */
enum nn_border {
	NN_BORDER_NONE,
	NN_BORDER_ZERO,		/* of zeros */
	NN_BORDER_LEAST,	/* no border value is above any value of the image */
};

struct nn_traits {
	/*
	 * For an operation with a window (window.h): the number of tensors among its inputs, and
	 * the number of parameters that only this operation has. The positions of activation and
	 * NCHW flag follow from `tensors` and `own`.
	 */
	struct {
		uint8_t tensors;
		uint8_t own;
	} window;

	/*
	 * Positions of inputs of operations without a window. A negative position counts from the
	 * last input; 0 means that the operation has no such input.
	 */
	int8_t activation;		/* the fused activation, whose value may be NONE */
	int8_t layout;			/* the flag that selects NCHW */

	/* For an activation that other operations can fuse: its FuseCode in NNAPI; otherwise 0. */
	uint8_t fused_code;

	/* Each output element depends on one element of each of the first `elementwise` inputs. */
	uint8_t elementwise;

	/*
	 * is_narrow_product: the operation is a product, and kernels compute it in float16.
	 * is_neutral: the operation works in float16 or float32; float16 adds at most one rounding.
	 */
	bool is_narrow_product;
	bool is_neutral;

	/*
	 * Inputs that determine addresses do not affect the output's shape, and zeros are valid
	 * values for these inputs. The values may be unknown until the operation runs; the
	 * operation then copies and checks the values.
	 */
	bool determines_no_shape;
	/* the output's shape also depends on values of inputs that are not `determining` */
	bool is_sized_by_values;

	bool sees_types;		/* the result also depends on the type of a value */
	bool only_reshapes;		/* the output has the same bytes as input 0 */
	enum nn_border border;
	/*
	 * The operation adds a border to input 0, like PAD. Input 1 of a padding operation has the
	 * widths of the border; the border's value is 0 or an input.
	 */
	bool pads;
	bool is_random;			/* see nn_op_varies() */

	bool takes_nchw;		/* kernels accept images in NCHW and in NHWC */
};

/*
 * Returns the traits of an operation code, never NULL: an operation outside of ops.def has no
 * traits.
 */
const struct nn_traits *nn_traits(int32_t code);

/*
 * Returns whether an operation can compute different results from the same inputs: it is random or
 * belongs to an extension.
 */
bool nn_op_varies(const struct nn_op *op);

/*
 * Returns the position of an operation's fused activation among its inputs, or 0 without
 * activation.
 */
uint32_t nn_run_activation(const struct nn_run *r);

/*
 * Returns the position of an operation's NCHW flag among its inputs, or 0 if it never has one. The
 * operation may have fewer inputs than the position of the flag.
 */
uint32_t nn_operation_layout(const struct nn_subgraph *s, const struct nn_operation *o);

#endif /* NN_OPS_TRAITS_H */
