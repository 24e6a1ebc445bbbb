/* SPDX-License-Identifier: MIT */
/*
 * Traits of operations, for passes over models and plans: the columns of ops.def. A line of ops.def
 * names only those traits of its operation that are not 0.
 */
#ifndef NN_OPS_TRAITS_H
#define NN_OPS_TRAITS_H

#include "ops/op.h"

/*
 * A convolution or pooling that follows a PAD may replace the PAD by padding of its own. The enum
 * nn_border tells for which borders of the PAD the results stay the same.
 */
enum nn_border {
	NN_BORDER_NONE,
	NN_BORDER_ZERO,		/* a border of zeros */
	/* a border whose value is at most the least value that the image can have */
	NN_BORDER_LEAST,
};

struct nn_traits {
	/*
	 * For an operation with a window (window.h): the number of tensors among its inputs, and
	 * the number of parameters that only this operation has. `tensors` and `own` determine the
	 * positions of the activation and of the NCHW flag among the inputs.
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

	/* The operation is a product, and kernels compute the product in float16. */
	bool is_narrow_product;
	/* The operation works in float16 or float32; float16 adds at most one rounding. */
	bool is_neutral;

	/*
	 * The inputs from which the operation computes addresses do not affect the output's shape,
	 * and zeros are valid values for these inputs. If values that determine addresses are
	 * unknown until the operation runs, the operation copies and checks the values.
	 */
	bool determines_no_shape;
	/*
	 * the output's shape depends on the values of inputs, and nn_op.determining does not name
	 * these inputs
	 */
	bool is_sized_by_values;

	/* the result depends on the type of an input, not only on the input's values */
	bool sees_types;
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
 * Returns the traits of an operation code. For an operation outside of ops.def, returns a structure
 * of zeros, not NULL.
 */
const struct nn_traits *nn_traits(int32_t code);

/*
 * Returns whether an operation can compute different results from the same inputs: it is random, or
 * a plug-in registered it with nn_op.every_time.
 */
bool nn_op_varies(const struct nn_op *op);

/*
 * Returns the position of an operation's fused activation among its inputs, or 0 without
 * activation.
 */
uint32_t nn_run_activation(const struct nn_run *r);

/*
 * Returns the position of an operation's NCHW flag among its inputs, or 0 if the operation has no
 * such flag. The NCHW flag may be optional, so the returned position can be beyond the last input.
 */
uint32_t nn_operation_layout(const struct nn_subgraph *s, const struct nn_operation *o);

#endif /* NN_OPS_TRAITS_H */
