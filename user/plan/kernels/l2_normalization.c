/* SPDX-License-Identifier: MIT */
/*
 * L2_NORMALIZATION along the last axis: of floats a row divided by its norm, of bytes
 * multiplied by the fixed-point inverse of it.
 */
#include <math.h>
#include <stdlib.h>

#include "ops/axis.h"
#include "ops/dot.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

#define LEAST_NORM 1e-6f
#define ONE 128			/* what 1 is as a byte, less the zero point of the output */
#define CONSTANT 255		/* a byte that is ONE, less CONSTANT_ZERO */
#define CONSTANT_ZERO (CONSTANT - ONE)

struct l2 {
	bool is_float;
	struct nn_q8 q;			/* of the input's bytes */
	size_t rows;
	size_t size;			/* of one */
	size_t task_rows;
};

static void divide(struct l2 *l, struct nn_ready *ready)
{
	size_t count, tasks = nn_elementwise_divide(ready->threads, l->rows * l->size, &count);

	l->task_rows = (l->rows + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((l->rows + l->task_rows - 1) / l->task_rows);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	uint32_t axis;
	struct l2 *l;

	if (r->op->code != NN_OP_L2_NORMALIZATION || !nn_tensor_count(x) ||
	    x->type == NN_TENSOR_FLOAT16 || !nn_axis(nn_run_int(r, 1, -1), x->rank, &axis) ||
	    axis != x->rank - 1 || (x->type != NN_TENSOR_FLOAT32 && !ready->isa->binary_q8))
		return false;
	l = malloc(sizeof(*l));
	if (!l)
		return false;
	ready->state = l;
	*l = (struct l2){
		.is_float = x->type == NN_TENSOR_FLOAT32,
		.rows = nn_tensor_product(x, 0, axis),
		.size = x->dims[axis],
	};
	if (!l->is_float)
		l->q = nn_q8_of(x);
	divide(l, ready);
	return true;
}

/* ---- Saving ---- */

struct saved {
	uint32_t is_float;
	uint32_t flip;
	int32_t zero;
	uint32_t rows;
	uint32_t size;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct l2 *l = ready->state;

	*(struct saved *)words = (struct saved){ l->is_float, l->q.flip, l->q.zero,
						 (uint32_t)l->rows, (uint32_t)l->size };
	return NN_WORDS(struct saved);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	const size_t element = count == NN_WORDS(*s) && s->is_float ? sizeof(float) : 1;
	struct l2 *l = state;
	uint64_t size;

	if (count != NN_WORDS(*s) || !nn_is_dimension(s->rows) || !nn_is_dimension(s->size) ||
	    (s->flip && s->flip != 0x80) || s->zero < 0 || s->zero > UINT8_MAX ||
	    (!s->is_float && !ready->isa->binary_q8))
		return false;
	size = nn_times((uint64_t)s->rows * s->size, element);
	if (!nn_fits(&bounds->inputs[0], size, element) || !nn_fits(&bounds->output, size, element))
		return false;
	*l = (struct l2){ s->is_float, { (uint8_t)s->flip, s->zero }, s->rows, s->size, 0 };
	divide(l, ready);
	return true;
}

/* ---- Running ---- */

static void normalize_f32(const struct l2 *l, const struct nn_isa *isa, const float *x, float *out)
{
	const float norm = fmaxf(sqrtf(nn_dot_f32(x, x, l->size)), LEAST_NORM);
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

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct l2 *l = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task * l->task_rows, left = l->rows - first;
	const size_t end = first + (left < l->task_rows ? left : l->task_rows);

	(void)scratch;
	for (size_t row = first; row < end; row++) {
		const size_t at = row * l->size;

		if (l->is_float)
			normalize_f32(l, isa, (const float *)call->inputs[0] + at,
				      (float *)call->outputs[0] + at);
		else
			normalize_q8(l, isa, (const uint8_t *)call->inputs[0] + at,
				     (uint8_t *)call->outputs[0] + at);
	}
}

const struct nn_kernel nn_kernel_l2_normalization = {
	.name = "L2 normalization",
	.prepare = prepare,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct l2),
};
