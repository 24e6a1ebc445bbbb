/* SPDX-License-Identifier: MIT */
/*
 * L2_NORMALIZATION: a row of floats is divided by its norm, and an int8 row is multiplied by the
 * norm's fixed-point inverse. If the axis is not the last one, adjacent columns are computed
 * together; int8 columns are transposed to rows, and back.
 */
#include <math.h>

#include "ops/axis.h"
#include "ops/dot.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"
#include "plan/kernels/squares.h"

#define BLOCK_COLUMNS 64	/* adjacent columns that are computed together */
#define MAX_TURNED (1 << 14)	/* bytes of a column that is transposed */
#define LEAST_NORM 1e-6f
#define ONE 128			/* the value 1 as a byte, without the output's zero point */
#define CONSTANT 255		/* a byte that is ONE, without CONSTANT_ZERO */
#define CONSTANT_ZERO (CONSTANT - ONE)

struct l2 {
	bool is_float;
	struct nn_q8 q;			/* quantisation of the input's bytes */
	size_t outer;			/* rows, or matrices whose columns are normalised */
	size_t size;			/* elements of a row, or of a column */
	size_t inner;			/* columns of a matrix; 1 if rows are normalised */
	/* A block is a row or some columns. A task has `task_blocks` blocks. */
	size_t matrix_blocks;
	size_t task_blocks;
};

#define NN_STATE struct l2
static const struct nn_field fields[] = {
	FLAG(is_float), FLIP(q.flip), BYTE(q.zero), DIMENSION(outer), DIMENSION(size), DIMENSION(inner),
	SPAN(INPUT(0), NUMBERS(is_float), outer, size, inner),
	SPAN(OUTPUT(0), NUMBERS(is_float), outer, size, inner),
	END
};

/* Returns false for columns of bytes that are too long. */
static bool complete(void *state, struct nn_ready *ready)
{
	struct l2 *l = state;

	l->matrix_blocks = (l->inner + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
	l->task_blocks = nn_elementwise_rows(ready, l->outer * l->matrix_blocks,
					     l->outer * l->size * l->inner);
	if (l->is_float)
		return true;
	if (l->inner > 1)
		ready->scratch_size = 2 * BLOCK_COLUMNS * l->size;
	return l->inner == 1 || l->size <= MAX_TURNED;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct l2 *l = ready->state;
	uint32_t axis;

	if (x->type == NN_TENSOR_FLOAT16 || !nn_axis(nn_run_int(r, 1, -1), x->rank, &axis))
		return false;
	l->is_float = x->type == NN_TENSOR_FLOAT32;
	l->outer = nn_tensor_product(x, 0, axis);
	l->size = x->dims[axis];
	l->inner = nn_tensor_product(x, axis + 1, x->rank);
	if (!l->is_float)
		l->q = nn_q8_of(x);
	return complete(l, ready);
}

/* ---- Running ---- */

static void normalize_f32(const struct l2 *l, const struct nn_isa *isa, const float *x, float *out)
{
	const float length = sqrtf(nn_dot_f32(x, x, l->size));
	/* NaN stays. */
	const float norm = length < LEAST_NORM ? LEAST_NORM : length;
	const struct nn_binary_f32 quotient = {
		.operation = NN_BINARY_DIV,
		.count = l->size,
		.a = x,
		.b = &norm,
		.one_b = true,
		.out = out,
		.low = -INFINITY,
		.high = INFINITY,
	};

	isa->binary_f32(&quotient);
}

/* The sum counts modulo 2^32. */
static uint32_t sum_of_squares(const struct l2 *l, const uint8_t *x)
{
	const struct nn_dot_q8 dot = l->q.flip ?
		nn_dot_i8((const int8_t *)x, (const int8_t *)x, l->size) :
		nn_dot_u8(x, x, l->size);
	const int32_t zero = l->q.zero - l->q.flip;

	return (uint32_t)nn_dot_q8_sum(&dot, zero, zero, l->size);
}

static void normalize_q8(const struct l2 *l, const struct nn_isa *isa, const uint8_t *x,
			 uint8_t *out)
{
	const uint8_t constant = CONSTANT ^ l->q.flip;
	struct nn_binary_q8 product = {
		.operation = NN_BINARY_MUL,
		.rows = 1,
		.count = l->size,
		.a = x,
		.b = &constant,
		.one_b = true,
		.out = out,
		.flip = l->q.flip,
		.a_zero = l->q.zero,
		.b_zero = CONSTANT_ZERO,
		.output = { .zero = ONE, .low = 0, .high = UINT8_MAX },
	};

	nn_quant_inverse_sqrt((int32_t)sum_of_squares(l, x), &product.out_factor.value,
			      &product.out_factor.shift);
	product.out_factor.shift = -product.out_factor.shift;
	isa->binary_q8(&product);
}

static void normalize_columns_f32(const struct l2 *l, const struct nn_isa *isa, const float *x,
				  float *out, size_t columns)
{
	const struct nn_norm_f32 norm = {
		.in = x,
		.out = out,
		.rows = l->size,
		.columns = columns,
		.stride = l->inner,
		.least = LEAST_NORM,
	};

	isa->norm_f32(&norm);
}

static void normalize_columns_q8(const struct l2 *l, const struct nn_isa *isa, const uint8_t *x,
				 uint8_t *out, size_t columns, uint8_t *scratch)
{
	uint8_t *turned = scratch + BLOCK_COLUMNS * l->size;

	turn_bytes(x, l->size, columns, l->inner, scratch, l->size);
	for (size_t i = 0; i < columns; i++)
		normalize_q8(l, isa, scratch + i * l->size, turned + i * l->size);
	turn_bytes(turned, columns, l->size, l->size, out, l->inner);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct l2 *l = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task * l->task_blocks, left = l->outer * l->matrix_blocks - first;
	const size_t end = first + (left < l->task_blocks ? left : l->task_blocks);

	for (size_t block = first; block < end; block++) {
		const size_t column = block % l->matrix_blocks * BLOCK_COLUMNS;
		const size_t at = block / l->matrix_blocks * l->size * l->inner + column;
		const size_t columns = l->inner - column < BLOCK_COLUMNS ? l->inner - column :
									   BLOCK_COLUMNS;
		const float *x = (const float *)call->inputs[0] + at;
		const uint8_t *bytes = (const uint8_t *)call->inputs[0] + at;
		float *out = (float *)call->outputs[0] + at;
		uint8_t *out_bytes = (uint8_t *)call->outputs[0] + at;

		if (l->is_float && l->inner == 1)
			normalize_f32(l, isa, x, out);
		else if (l->is_float)
			normalize_columns_f32(l, isa, x, out, columns);
		else if (l->inner == 1)
			normalize_q8(l, isa, bytes, out_bytes);
		else
			normalize_columns_q8(l, isa, bytes, out_bytes, columns, scratch);
	}
}

NN_KERNEL(l2_normalization, "L2 normalization", sizeof(struct l2), NN_TAKES(NN_OP_L2_NORMALIZATION),
	  .inputs = 1);
