/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of floats and int8, and LOG_SOFTMAX of floats, along any axis.
 */
#include "ops/axis.h"
#include "ops/q8.h"
#include "ops/softmax_q8.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

enum { X, BETA, AXIS };

#define MAX_COLUMN 16384	/* maximum number of elements of a column of floats */

/*
 * The tensor has the shape [outer, elements, columns]. Tasks consist of units. A unit is a row if
 * there is only one column, a column of int8, or a vector of columns of floats.
 */
struct softmax {
	size_t outer;
	size_t elements;		/* number of elements along the axis */
	size_t columns;
	size_t units;			/* for each index of the axis `outer` */
	size_t task_units;
	bool is_float;
	bool is_log;			/* true: LOG_SOFTMAX, which exists only for floats */
	float beta;
	struct nn_multiplier factor;	/* of int8 */
	struct nn_softmax_q8 tables;
};

/* The allowed factors are those that nn_softmax_q8_factor() can produce. */
#define NN_STATE struct softmax
static const struct nn_field fields[] = {
	COUNT(outer), COUNT(elements), COUNT(columns), FLAG(is_float),
	WHEN(is_float, SET, FLAG(is_log), FLOAT(beta)),
	WHEN(is_float, IS(false),
	     FLIP(tables.flip), WORD(factor.value, 1 << 30, INT32_MAX), WORD(factor.shift, 1, 31)),
	SPAN(INPUT(X), NUMBERS(is_float), outer, elements, columns),
	SPAN(OUTPUT(0), NUMBERS(is_float), outer, elements, columns),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct softmax *s = state;

	s->units = s->columns;
	if (s->is_float && s->columns > 1) {
		s->units = (s->columns + ready->isa->lanes - 1) / ready->isa->lanes;
		ready->scratch_size = s->elements * ready->isa->lanes * sizeof(float);
	}
	s->task_units = nn_elementwise_rows(ready, s->outer * s->units,
					    s->outer * s->elements * s->columns);
	if (!s->is_float)
		nn_softmax_q8_init(&s->tables, s->tables.flip, &s->factor);
	return !ready->scratch_size || s->elements <= MAX_COLUMN;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct softmax *s = ready->state;
	uint32_t axis;

	if (!nn_axis(nn_run_int(r, AXIS, -1), x->rank, &axis))
		return false;
	s->outer = nn_tensor_product(x, 0, axis);
	s->elements = x->dims[axis];
	s->columns = nn_tensor_product(x, axis + 1, x->rank);
	s->is_float = x->type == NN_TENSOR_FLOAT32;
	s->is_log = r->op->code == NN_OP_LOG_SOFTMAX;
	s->beta = nn_run_float(r, BETA, 1);
	s->tables.flip = nn_q8_of(x).flip;
	return (s->is_float ||
		((x->type == NN_TENSOR_QUANT8_ASYMM || x->type == NN_TENSOR_QUANT8_ASYMM_SIGNED) &&
		 nn_softmax_q8_factor(x, s->beta, &s->factor))) && complete(s, ready);
}

/* Computes a vector of columns. `at` is the offset of the first column's first element. */
static void run_columns(const struct nn_kernel_call *call, size_t column, size_t at, float *scratch)
{
	const struct softmax *s = call->ready->state;
	const size_t left = s->columns - column, lanes = call->ready->isa->lanes;

	call->ready->isa->softmax_columns_f32(&(struct nn_softmax_f32){
		.rows = s->elements, .columns = left < lanes ? left : lanes, .stride = s->columns,
		.in = (const float *)call->inputs[X] + at, .out = (float *)call->outputs[0] + at,
		.scratch = scratch, .beta = s->beta, .is_log = s->is_log });
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct softmax *s = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task * s->task_units, left = s->outer * s->units - first;
	const size_t end = first + (left < s->task_units ? left : s->task_units);

	for (size_t unit = first; unit < end; unit++) {
		const size_t column = unit % s->units * (s->is_float ? isa->lanes : 1);
		const size_t at = unit / s->units * s->elements * s->columns + column;

		if (!s->is_float)
			nn_softmax_q8(&s->tables, (const uint8_t *)call->inputs[X] + at,
				      (uint8_t *)call->outputs[0] + at, s->elements, s->columns);
		else if (s->columns > 1)
			run_columns(call, column, at, scratch);
		else
			(s->is_log ? isa->log_softmax_f32 : isa->softmax_f32)(
				(const float *)call->inputs[X] + at, (float *)call->outputs[0] + at,
				s->elements, s->beta);
	}
}

NN_KERNEL(softmax, "softmax", sizeof(struct softmax), NN_TAKES(NN_OP_SOFTMAX, NN_OP_LOG_SOFTMAX),
	  .inputs = 1);
