/* SPDX-License-Identifier: MIT */
/*
 * Operations on two broadcast tensors: the shape rule, and the walk that passes contiguous rows to
 * a kernel.
 */
#ifndef NN_OPS_BROADCAST_H
#define NN_OPS_BROADCAST_H

#include "ops/op.h"

/*
 * The shape rule: the dimensions of inputs 0 and 1, aligned at the last axis, are equal or one of
 * them is 1. The model sets type and quantisation of output 0.
 */
enum nn_status nn_broadcast_infer(struct nn_run *r);

/*
 * Output axes of a broadcast. Adjacent axes are merged if both operands are contiguous across them.
 * The steps are the operands' strides in elements; 0 means broadcast.
 */
struct nn_broadcast_axes {
	uint32_t count;			/* at least 1 */
	size_t dims[NN_MAX_RANK];
	size_t steps_a[NN_MAX_RANK];
	size_t steps_b[NN_MAX_RANK];
};

void nn_broadcast_axes(const struct nn_run *r, struct nn_broadcast_axes *x);

/* A row of `count` outputs; each operand has `count` elements, or one for the whole row. */
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
 * Defines a row kernel: `expression` computes an `out_type` from x and y of type `in_type` and from
 * `p`, the `params`. It makes three loops that a compiler can vectorise.
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
