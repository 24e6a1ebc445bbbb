/* SPDX-License-Identifier: MIT */
/*
 * Operations on two tensors with broadcasting: the shape rule, and a loop that calls a kernel for
 * each contiguous row.
 */
#ifndef NN_OPS_BROADCAST_H
#define NN_OPS_BROADCAST_H

#include "ops/op.h"

/*
 * The shape rule of an operation on two tensors with broadcasting. The shapes of inputs 0 and 1 are
 * aligned at their last axes. On each axis, the sizes of the two inputs are equal, or one size is
 * 1. Output 0 gets the type and quantisation that the model declares.
 */
enum nn_status nn_broadcast_infer(struct nn_run *r);

/*
 * The axes of a broadcast operation's output. Two adjacent axes are merged if each operand is
 * broadcast along both axes or along neither. The steps are the strides of operands a and b in
 * elements; an operand with step 0 is broadcast along the axis.
 */
struct nn_broadcast_axes {
	uint32_t count;			/* at least 1 */
	size_t dims[NN_MAX_RANK];
	size_t steps_a[NN_MAX_RANK];
	size_t steps_b[NN_MAX_RANK];
};

void nn_broadcast_axes(const struct nn_run *r, struct nn_broadcast_axes *x);

/*
 * A row of `count` output elements. Operands a and b have `count` elements each, or one element for
 * the whole row if one_a or one_b is set.
 */
struct nn_row {
	const void *params;		/* the kernel's own */
	const void *a;
	const void *b;
	void *out;
	size_t count;
	bool one_a;
	bool one_b;
};

typedef void nn_row_fn(const struct nn_row *row);

/* Computes output 0 from inputs 0 and 1, row by row. */
void nn_broadcast(const struct nn_run *r, nn_row_fn *fn, const void *params);

/*
 * Defines a row kernel. `expression` computes an element of type `out_type` from x and y of type
 * `in_type` and from the parameters `p`. The row kernel has three loops, which compilers can
 * vectorise.
 */
#define NN_ROW_FN(name, in_type, out_type, params_type, expression)			\
static void name(const struct nn_row *row)						\
{											\
	const params_type *p __attribute__((unused)) = row->params;			\
	const in_type *a = row->a, *b = row->b;						\
	out_type *restrict out = row->out;						\
	const bool one_b = row->one_b;							\
	const size_t count = row->count;						\
											\
	if (!count)									\
		return;									\
	if (row->one_a) {								\
		const in_type x = a[0];							\
											\
		for (size_t i = 0; i < count; i++) {					\
			in_type y = b[one_b ? 0 : i];					\
											\
			out[i] = (out_type)(expression);				\
		}									\
	} else if (one_b) {								\
		const in_type y = b[0];							\
											\
		for (size_t i = 0; i < count; i++) {					\
			in_type x = a[i];						\
											\
			out[i] = (out_type)(expression);				\
		}									\
	} else {									\
		for (size_t i = 0; i < count; i++) {					\
			in_type x = a[i], y = b[i];					\
											\
			out[i] = (out_type)(expression);				\
		}									\
	}										\
}

#endif /* NN_OPS_BROADCAST_H */
