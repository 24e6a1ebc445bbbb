/* SPDX-License-Identifier: MIT */
/*
 * L2_NORMALIZATION along the last axis: a row of floats is divided by its norm, and an int8 row is
 * multiplied by the norm's fixed-point inverse.
 */
#include <math.h>

#include "ops/axis.h"
#include "ops/dot.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

#define LEAST_NORM 1e-6f
/* difference between the byte that encodes 1.0 and the zero point */
#define ONE 128
#define CONSTANT 255		/* byte that encodes 1.0 with the zero point CONSTANT_ZERO */
#define CONSTANT_ZERO (CONSTANT - ONE)

struct l2 {
	bool is_float;
	struct nn_q8 q;			/* quantisation of the input's bytes */
	size_t rows;
	size_t size;			/* elements of a row */
	size_t task_rows;
};

#define NN_STATE struct l2
static const struct nn_field fields[] = {
	FLAG(is_float), FLIP(q.flip), BYTE(q.zero), DIMENSION(rows), DIMENSION(size),
	SPAN(INPUT(0), NUMBERS(is_float), rows, size),
	SPAN(OUTPUT(0), NUMBERS(is_float), rows, size),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct l2 *l = state;

	l->task_rows = nn_elementwise_rows(ready, l->rows, l->rows * l->size);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct l2 *l = ready->state;
	uint32_t axis;

	if (x->type == NN_TENSOR_FLOAT16 || !nn_axis(nn_run_int(r, 1, -1), x->rank, &axis) ||
	    nn_tensor_product(x, axis + 1, x->rank) != 1)
		return false;
	l->is_float = x->type == NN_TENSOR_FLOAT32;
	l->rows = nn_tensor_product(x, 0, axis);
	l->size = x->dims[axis];
	if (!l->is_float)
		l->q = nn_q8_of(x);
	return complete(l, ready);
}

/* ---- Running ---- */

static void normalize_f32(const struct l2 *l, const struct nn_isa *isa, const float *x, float *out)
{
	const float length = sqrtf(nn_dot_f32(x, x, l->size));
	/* The comparison is false if the length is NaN, so the norm is NaN too. */
	const float norm = length < LEAST_NORM ? LEAST_NORM : length;
	const struct nn_binary_f32 quotient = {
		.operation = NN_BINARY_DIV,
		.rows = 1,
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

/* Returns the sum of a row's squares, modulo 2^32. */
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

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct l2 *l = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task * l->task_rows, left = l->rows - first;
	const size_t end = first + (left < l->task_rows ? left : l->task_rows);

	(void)scratch;
	for (size_t at = first * l->size; at < end * l->size; at += l->size) {
		if (l->is_float)
			normalize_f32(l, isa, (const float *)call->inputs[0] + at,
				      (float *)call->outputs[0] + at);
		else
			normalize_q8(l, isa, (const uint8_t *)call->inputs[0] + at,
				     (uint8_t *)call->outputs[0] + at);
	}
}

NN_KERNEL(l2_normalization, "L2 normalization", sizeof(struct l2), NN_TAKES(NN_OP_L2_NORMALIZATION),
	  .inputs = 1);
