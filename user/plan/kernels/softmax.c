/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of floats and int8, and LOG_SOFTMAX of floats, along the last axis.
 */
#include "ops/axis.h"
#include "ops/q8.h"
#include "ops/softmax_q8.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

enum { X, BETA, AXIS };

struct softmax {
	size_t rows;
	size_t elements;		/* number of elements of a row */
	size_t task_rows;
	bool is_float;
	bool is_log;			/* true: LOG_SOFTMAX, which exists only for floats */
	float beta;
	struct nn_multiplier factor;	/* of int8 */
	struct nn_softmax_q8 tables;
};

/* The allowed factors are those that nn_softmax_q8_factor() can produce. */
#define NN_STATE struct softmax
static const struct nn_field fields[] = {
	COUNT(rows), COUNT(elements), FLAG(is_float),
	WHEN(is_float, SET, FLAG(is_log), FLOAT(beta)),
	WHEN(is_float, IS(false),
	     FLIP(tables.flip), WORD(factor.value, 1 << 30, INT32_MAX), WORD(factor.shift, 1, 31)),
	SPAN(INPUT(X), NUMBERS(is_float), rows, elements),
	SPAN(OUTPUT(0), NUMBERS(is_float), rows, elements),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct softmax *s = state;

	s->task_rows = nn_elementwise_rows(ready, s->rows, s->rows * s->elements);
	if (!s->is_float)
		nn_softmax_q8_init(&s->tables, s->tables.flip, &s->factor);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct softmax *s = ready->state;
	uint32_t axis;

	if (!nn_axis(nn_run_int(r, AXIS, -1), x->rank, &axis) ||
	    nn_tensor_product(x, axis + 1, x->rank) != 1)
		return false;
	s->elements = x->dims[axis];
	s->rows = nn_tensor_count(x) / s->elements;
	s->is_float = x->type == NN_TENSOR_FLOAT32;
	s->is_log = r->op->code == NN_OP_LOG_SOFTMAX;
	s->beta = nn_run_float(r, BETA, 1);
	s->tables.flip = nn_q8_of(x).flip;
	return (s->is_float ||
		((x->type == NN_TENSOR_QUANT8_ASYMM || x->type == NN_TENSOR_QUANT8_ASYMM_SIGNED) &&
		 nn_softmax_q8_factor(x, s->beta, &s->factor))) && complete(s, ready);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct softmax *s = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task * s->task_rows, left = s->rows - first;
	const size_t end = first + (left < s->task_rows ? left : s->task_rows);

	(void)scratch;
	for (size_t row = first; row < end; row++) {
		const size_t at = row * s->elements;

		if (s->is_float)
			(s->is_log ? isa->log_softmax_f32 : isa->softmax_f32)(
				(const float *)call->inputs[X] + at, (float *)call->outputs[0] + at,
				s->elements, s->beta);
		else
			nn_softmax_q8(&s->tables, (const uint8_t *)call->inputs[X] + at,
				      (uint8_t *)call->outputs[0] + at, s->elements, 1);
	}
}

NN_KERNEL(softmax, "softmax", sizeof(struct softmax), NN_TAKES(NN_OP_SOFTMAX, NN_OP_LOG_SOFTMAX),
	  .inputs = 1);
