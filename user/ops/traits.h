/* SPDX-License-Identifier: MIT */
/*
 * Traits of operations, which passes over models and plans ask for: the columns of ops.def. A
 * line names those that hold; the rest is 0.
 */
#ifndef NN_OPS_TRAITS_H
#define NN_OPS_TRAITS_H

#include "ops/op.h"

/* The border around its image that an operation with a window takes for its own padding. */
enum nn_border {
	NN_BORDER_NONE,
	NN_BORDER_ZERO,		/* of zeros */
	NN_BORDER_LEAST,	/* of what is less than, or the same as, all of the image */
};

struct nn_traits {
	int32_t code;

	/*
	 * The arguments of a window (window.h): they stand behind so many tensors, and so many
	 * of them are the operation's own. They say where the activation and the layout are.
	 */
	struct {
		uint8_t tensors;
		uint8_t own;
	} window;

	/* Inputs of operations without a window. Negative ones count from the end, 0: none. */
	int8_t activation;		/* a fused activation, which may be NONE */
	int8_t layout;			/* the flag for images in NCHW */

	/* It is the fused activation of this code (NNAPI's FuseCode); 0: none. */
	uint8_t fused_code;

	/* Each element of the output is made of one of each of its first so many inputs. */
	uint8_t elementwise;

	/*
	 * In float16: it is a product that kernels compute, or it is neutral: it is done in either
	 * type and loses no more than a rounding.
	 */
	bool is_narrow_product;
	bool is_neutral;

	/*
	 * Its tensors that steer leave its shape alone, and zeros are such: they may be known when it
	 * runs only, where it copies and checks them.
	 */
	bool steers_no_shape;
	bool is_sized_by_values;	/* the values of its other inputs tell the output's shape */

	bool sees_types;		/* computes other values from the same ones in another type */
	bool only_reshapes;		/* the output has the bytes of input 0 */
	enum nn_border border;
	bool pads;			/* puts a border around input 0: widths, and the value or 0 */
	bool is_random;			/* see nn_op_varies() */

	bool takes_nchw;		/* kernels take images in NCHW as well as NHWC */
};

/* Returns the traits of a code, never NULL: other operations than those of ops.def have none. */
const struct nn_traits *nn_traits(int32_t code);

/*
 * Returns whether an operation may compute something else from the same inputs: one that is random,
 * or an extension's.
 */
bool nn_op_varies(const struct nn_op *op);

/* Returns the input that is the fused activation of an operation, or 0. */
uint32_t nn_run_activation(const struct nn_run *r);

/*
 * Returns the input that is the flag for images in NCHW of an operation whose inputs may end
 * before it, or 0.
 */
uint32_t nn_operation_layout(const struct nn_subgraph *s, const struct nn_operation *o);

#endif /* NN_OPS_TRAITS_H */
