/* SPDX-License-Identifier: MIT */
/*
 * MEAN and the REDUCE_ operations: reduce all elements along some axes to one value.
 */
#include <math.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/strided.h"

/* Sets *axes to the bit set of the reduced axes. */
static enum nn_status reduced_axes(const struct nn_run *r, uint32_t *axes)
{
	const struct nn_tensor *in = &r->inputs[0];
	const int32_t *list = r->inputs[1].data;
	uint32_t axis;

	*axes = 0;
	for (uint32_t i = 0; i < nn_tensor_count(&r->inputs[1]); i++) {
		if (!nn_axis(list[i], in->rank, &axis))
			return nn_run_fail(r, "axis %d does not fit rank %u", list[i], in->rank);
		*axes |= 1u << axis;
	}
	return NN_OK;
}

static enum nn_status infer_reduce(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct nn_tensor *out = &r->outputs[0];
	/* Input 2 is an INT32 in MEAN, and a BOOL in all REDUCE_ operations. */
	const bool keeps_axes = nn_run_int(r, 2, 0) > 0;
	uint32_t axes, rank = 0;
	enum nn_status status = reduced_axes(r, &axes);

	if (status)
		return status;
	nn_tensor_like(out, in);
	for (uint32_t i = 0; i < in->rank; i++) {
		if (!(axes & 1u << i))
			out->dims[rank++] = in->dims[i];
		else if (keeps_axes)
			out->dims[rank++] = 1;
	}
	if (rank == 0)
		out->dims[rank++] = 1;
	nn_tensor_set_rank(out, rank);
	return NN_OK;
}

/*
 * Transposes the reduced axes to the end, so that each output element is computed from *row
 * contiguous input elements. Returns NULL if memory runs out.
 */
static const void *reduced_last(struct nn_run *r, uint32_t *row)
{
	const struct nn_tensor *in = &r->inputs[0];
	size_t element = nn_type_info_of(in->type)->element_size;
	struct nn_strided view = { 0 };
	uint32_t axes, seen = 0;
	bool in_order = true;
	void *moved;

	if (reduced_axes(r, &axes))
		return NULL;
	*row = 1;
	for (uint32_t i = 0; i < in->rank; i++) {
		if (axes & 1u << i) {
			*row *= in->dims[i];
			seen |= in->dims[i] > 1;
			continue;
		}
		in_order = in_order && (!seen || in->dims[i] == 1);
		nn_strided_axis(&view, in->dims[i], nn_strided_step(in, i));
	}
	if (in_order)
		return in->data;
	for (uint32_t i = 0; i < in->rank; i++) {
		if (axes & 1u << i)
			nn_strided_axis(&view, in->dims[i], nn_strided_step(in, i));
	}
	moved = nn_run_alloc(r, nn_tensor_count(in), element);
	if (moved)
		nn_strided_read(&view, in->data, moved, element);
	return moved;
}

/*
 * Defines a function that reduces each group of `row` elements to one element; each reduction
 * begins with `init`.
 */
#define REDUCE(name, type, accumulator, init, combine, result)				\
static void name(const void *data, void *to, uint32_t count, uint32_t row)		\
{											\
	const type *from = data;							\
											\
	for (uint32_t o = 0; o < count; o++) {						\
		accumulator a = init;							\
											\
		for (uint32_t i = 0; i < row; i++, from++) {				\
			accumulator b = *from;						\
											\
			a = combine;							\
		}									\
		((type *)to)[o] = (type)(result);					\
	}										\
}

REDUCE(mean_float, float, float, 0, a + b, a / (float)row)
REDUCE(mean_uint8, uint8_t, int64_t, 0, a + b, a / (int64_t)row)
REDUCE(mean_int8, int8_t, int64_t, 0, a + b, a / (int64_t)row)
REDUCE(sum_float, float, float, 0, a + b, a)
REDUCE(prod_float, float, float, 1, a == 0 || b == 0 ? 0 : a * b, a)
REDUCE(max_float, float, float, -INFINITY, a > b ? a : b, a)
REDUCE(max_uint8, uint8_t, uint8_t, 0, a > b ? a : b, a)
REDUCE(max_int8, int8_t, int8_t, INT8_MIN, a > b ? a : b, a)
REDUCE(min_float, float, float, INFINITY, a < b ? a : b, a)
REDUCE(min_uint8, uint8_t, uint8_t, UINT8_MAX, a < b ? a : b, a)
REDUCE(min_int8, int8_t, int8_t, INT8_MAX, a < b ? a : b, a)
REDUCE(all_bool, uint8_t, uint8_t, 1, a && b, a)
REDUCE(any_bool, uint8_t, uint8_t, 0, a || b, a)

typedef void reduce_fn(const void *data, void *to, uint32_t count, uint32_t row);

struct kernels {
	reduce_fn *on_float;
	reduce_fn *on_bytes;
	reduce_fn *on_int8;
};

static enum nn_status execute(struct nn_run *r)
{
	const struct nn_tensor *out = &r->outputs[0];
	const struct kernels *k = r->op->kernels;
	uint32_t row;
	const void *data = reduced_last(r, &row);

	if (!data)
		return NN_OUT_OF_MEMORY;
	(out->type == NN_TENSOR_FLOAT32 ? k->on_float :
	 out->type == NN_TENSOR_QUANT8_ASYMM_SIGNED ? k->on_int8 : k->on_bytes)
		(data, out->data, nn_tensor_count(out), row);
	return NN_OK;
}

#define REDUCTION(which, types, flag, ...)						\
NN_OPERATION(which,									\
	NN_INPUTS(3, { types, 0, 4 }, { NN_T(NN_TENSOR_INT32), 1, 1 }, flag),		\
	NN_OUTPUTS({ NN_SAME, 0, 0 }),							\
	.determining = NN_IN(1), .float16_as_float32 = true,				\
	.infer = infer_reduce, .execute = execute,					\
	.kernels = &(const struct kernels)__VA_ARGS__)

REDUCTION(MEAN, NN_FLOATS | NN_QUANT8, NN_SCALAR_INT, { mean_float, mean_uint8, mean_int8 });
REDUCTION(REDUCE_ALL, NN_T(NN_TENSOR_BOOL8), NN_SCALAR_BOOL, { .on_bytes = all_bool });
REDUCTION(REDUCE_ANY, NN_T(NN_TENSOR_BOOL8), NN_SCALAR_BOOL, { .on_bytes = any_bool });
REDUCTION(REDUCE_MAX, NN_FLOATS | NN_QUANT8, NN_SCALAR_BOOL, { max_float, max_uint8, max_int8 });
REDUCTION(REDUCE_MIN, NN_FLOATS | NN_QUANT8, NN_SCALAR_BOOL, { min_float, min_uint8, min_int8 });
REDUCTION(REDUCE_PROD, NN_FLOATS, NN_SCALAR_BOOL, { .on_float = prod_float });
REDUCTION(REDUCE_SUM, NN_FLOATS, NN_SCALAR_BOOL, { .on_float = sum_float });
