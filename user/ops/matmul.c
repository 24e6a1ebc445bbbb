/* SPDX-License-Identifier: MIT */
/*
 * BATCH_MATMUL: multiplies the matrices in the last two axes of two tensors, with broadcasting
 * along the other axes.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/dot.h"
#include "ops/matmul.h"
#include "ops/quant.h"

struct nn_factor nn_matmul_factor(const struct nn_run *r, uint32_t input)
{
	const struct nn_tensor *t = &r->inputs[input];
	uint32_t height = t->dims[t->rank - 2], width = t->dims[t->rank - 1];

	if (nn_run_bool(r, input + 2, false))
		return (struct nn_factor){ width, height, 1, width };
	return (struct nn_factor){ height, width, width, 1 };
}

enum nn_status nn_matmul_infer(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[0], *y = &r->inputs[1];
	struct nn_tensor *out = &r->outputs[0];
	uint32_t rank = x->rank;
	struct nn_factor a, b;

	if (rank < 2 || rank > 4 || y->rank != rank)
		return nn_run_fail(r, "matrices of %u and %u dimensions, must be the same 2 to 4",
				   rank, y->rank);
	a = nn_matmul_factor(r, 0);
	b = nn_matmul_factor(r, 1);
	if (a.columns != b.rows)
		return nn_run_fail(r, "%u columns do not fit %u rows", a.columns, b.rows);
	for (uint32_t i = 0; i + 2 < rank; i++) {
		if (x->dims[i] != y->dims[i] && x->dims[i] != 1 && y->dims[i] != 1)
			return nn_run_fail(r, "axis %u has %u and %u elements, must be equal", i,
					   x->dims[i], y->dims[i]);
		out->dims[i] = x->dims[i] == 1 ? y->dims[i] : x->dims[i];
	}
	out->dims[rank - 2] = a.rows;
	out->dims[rank - 1] = b.columns;
	nn_tensor_set_rank(out, rank);
	return NN_OK;
}

size_t nn_matmul_start(const struct nn_tensor *t, const struct nn_tensor *out, uint32_t index)
{
	size_t step = nn_tensor_product(t, t->rank - 2, t->rank), start = 0;

	for (uint32_t axis = t->rank - 2; axis-- > 0;) {
		uint32_t at = index % out->dims[axis];

		index /= out->dims[axis];
		if (t->dims[axis] != 1)
			start += at * step;
		step *= t->dims[axis];
	}
	return start;
}

/* Parameters with which convert() converts a quantised accumulator to an output element. */
struct conversion {
	int32_t x_zero, y_zero, out_zero, low, high;
	struct nn_multiplier multiplier;
};

static int32_t convert(int64_t sum, const struct conversion *q)
{
	int64_t value = (int64_t)nn_quant_scale((int32_t)(uint32_t)sum, &q->multiplier) +
			q->out_zero;

	return (int32_t)(value < q->low ? q->low : value > q->high ? q->high : value);
}

/*
 * Defines a function for a GEMM; the expression `result` converts an accumulator to an output
 * element.
 */
#define MATMUL(name, type, accumulator, x_offset, y_offset, result)			\
static void name(const void *x, const struct nn_factor *a, const void *y,			\
		 const struct nn_factor *b, void *out, const struct conversion *q)		\
{											\
	const type *left = x, *right = y;						\
	type *to = out;									\
											\
	(void)q;									\
	for (size_t i = 0; i < a->rows; i++) {						\
		for (size_t j = 0; j < b->columns; j++) {				\
			accumulator sum = 0;						\
											\
			for (size_t k = 0; k < a->columns; k++) {			\
				accumulator l = (accumulator)left[i * a->row_step +	\
							k * a->column_step] - x_offset;	\
				accumulator r = (accumulator)right[k * b->row_step +	\
							j * b->column_step] - y_offset;	\
											\
				sum += l * r;						\
			}								\
			*to++ = (type)(result);						\
		}									\
	}										\
}

MATMUL(matmul_float, float, float, 0, 0, sum)
MATMUL(matmul_int, int32_t, uint32_t, 0, 0, sum)

/*
 * Returns `count` rows or columns of a factor as contiguous rows. If the rows are not contiguous,
 * copies them to `copy`.
 */
static const int8_t *stretches(const int8_t *from, uint32_t count, uint32_t length, size_t step,
			       size_t inner_step, int8_t *copy)
{
	if (inner_step == 1 && step == length)
		return from;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < length; k++)
			copy[i * length + k] = from[i * step + k * inner_step];
	return copy;
}

/* Multiplies int8 matrices. The buffer `copy` is large enough for one matrix of each factor. */
static void matmul_int8(const int8_t *x, const struct nn_factor *a, const int8_t *y,
			const struct nn_factor *b, int8_t *out, const struct conversion *q,
			int8_t *copy)
{
	const size_t depth = a->columns;

	x = stretches(x, a->rows, a->columns, a->row_step, a->column_step, copy);
	y = stretches(y, b->columns, a->columns, b->column_step, b->row_step,
		      copy + a->rows * depth);
	for (size_t i = 0; i < a->rows; i++) {
		for (size_t j = 0; j < b->columns; j++) {
			const struct nn_dot_q8 dot = nn_dot_i8(x + i * depth, y + j * depth, depth);

			*out++ = (int8_t)convert(nn_dot_q8_sum(&dot, q->x_zero, q->y_zero, depth),
						 q);
		}
	}
}

static bool conversion(const struct nn_run *r, struct conversion *q)
{
	const struct nn_tensor *x = &r->inputs[0], *y = &r->inputs[1], *out = &r->outputs[0];

	q->x_zero = x->zero_point;
	q->y_zero = y->zero_point;
	q->out_zero = out->zero_point;
	nn_quant_range(out->type, &q->low, &q->high);
	return out->scale > 0 &&
	       nn_quant_encode((double)(x->scale * y->scale) / (double)out->scale,
			       &q->multiplier);
}

static enum nn_status execute_batch_matmul(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[0], *y = &r->inputs[1], *out = &r->outputs[0];
	size_t element = nn_type_info_of(out->type)->element_size;
	uint32_t batches = nn_tensor_product(out, 0, out->rank - 2);
	struct nn_factor a = nn_matmul_factor(r, 0), b = nn_matmul_factor(r, 1);
	size_t step = (size_t)a.rows * b.columns * element;
	struct conversion q = { 0 };
	int8_t *copy = NULL;

	if (element == 1 && !conversion(r, &q))
		return nn_run_fail(r, "the quotient of the scales cannot be represented");
	if (element == 1)
		copy = nn_run_alloc(r, (size_t)a.rows + b.columns, a.columns);
	if (element == 1 && !copy)
		return NN_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < batches; i++) {
		const char *left = (const char *)x->data + nn_matmul_start(x, out, i) * element;
		const char *right = (const char *)y->data + nn_matmul_start(y, out, i) * element;
		char *to = (char *)out->data + i * step;

		if (out->type == NN_TENSOR_FLOAT32)
			matmul_float(left, &a, right, &b, to, &q);
		else if (out->type == NN_TENSOR_INT32)
			matmul_int(left, &a, right, &b, to, &q);
		else
			matmul_int8((const int8_t *)left, &a, (const int8_t *)right, &b,
				    (int8_t *)to, &q, copy);
	}
	return NN_OK;
}

NN_OPERATION(BATCH_MATMUL,
	NN_INPUTS(4,
		  { NN_FLOATS | NN_T(NN_TENSOR_QUANT8_ASYMM_SIGNED) | NN_T(NN_TENSOR_INT32), 2, 4 },
		  { NN_SAME, 2, 4 }, NN_SCALAR_BOOL, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 2, 4 }),
	.float16_as_float32 = true,
	.infer = nn_matmul_infer, .execute = execute_batch_matmul);
