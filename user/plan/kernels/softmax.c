/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX and LOG_SOFTMAX along the last axis, of floats and, the first one, of bytes.
 */
#include <stdlib.h>

#include "ops/axis.h"
#include "ops/q8.h"
#include "ops/softmax_q8.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/fields.h"

enum { X, BETA, AXIS };

struct rows {
	size_t count;
	size_t of_task;
	size_t elements;		/* of one */
};

struct softmax {
	struct rows rows;
	bool is_log;
	float beta;
};

struct softmax_q8 {
	struct rows rows;
	struct nn_multiplier factor;
	struct nn_softmax_q8 tables;
};

#define ROWS(element)									\
	COUNT(rows.count), COUNT(rows.elements),					\
	SPAN(INPUT(X), SIZE(element), rows.count, rows.elements),			\
	SPAN(OUTPUT(0), SIZE(element), rows.count, rows.elements)

/* Cuts the rows in tasks. They are first in the states of both kernels. */
static bool complete(void *state, struct nn_ready *ready)
{
	struct rows *rows = state;
	size_t count;
	uint32_t tasks = nn_elementwise_divide(ready->threads, rows->count * rows->elements,
					       &count);

	rows->of_task = (rows->count + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((rows->count + rows->of_task - 1) / rows->of_task);
	return true;
}

/* Takes a SOFTMAX as rows, if it is along the last axis. */
static bool find_rows(struct nn_run *r, struct nn_ready *ready, struct rows *rows)
{
	const struct nn_tensor *x = &r->inputs[X];
	uint32_t axis;

	if (!nn_tensor_count(x) || !nn_axis(nn_run_int(r, AXIS, -1), x->rank, &axis) ||
	    nn_tensor_product(x, axis + 1, x->rank) != 1)
		return false;
	rows->elements = x->dims[axis];
	rows->count = nn_tensor_count(x) / rows->elements;
	return complete(rows, ready);
}

static size_t end_of(const struct rows *rows, uint32_t task)
{
	size_t end = (task + 1) * rows->of_task;

	return end < rows->count ? end : rows->count;
}

/* ---- Floats ---- */

#define NN_STATE struct softmax
static const struct nn_field fields[] = { ROWS(sizeof(float)), FLAG(is_log), FLOAT(beta), END };
#undef NN_STATE

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct softmax *s;
	struct rows rows;

	if ((r->op->code != NN_OP_SOFTMAX && r->op->code != NN_OP_LOG_SOFTMAX) ||
	    r->inputs[X].type != NN_TENSOR_FLOAT32 || !find_rows(r, ready, &rows))
		return false;
	s = malloc(sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	*s = (struct softmax){ rows, r->op->code == NN_OP_LOG_SOFTMAX, nn_run_float(r, BETA, 1) };
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct softmax *s = call->ready->state;
	const size_t end = end_of(&s->rows, task), elements = s->rows.elements;
	const struct nn_isa *isa = call->ready->isa;
	const float *in = call->inputs[X];
	float *out = call->outputs[0];

	(void)scratch;
	for (size_t row = task * s->rows.of_task; row < end; row++)
		(s->is_log ? isa->log_softmax_f32 : isa->softmax_f32)(
			in + row * elements, out + row * elements, elements, s->beta);
}

const struct nn_kernel nn_kernel_softmax = {
	.name = "softmax",
	.prepare = prepare,
	.run = run,
	.fields = fields,
	.complete = complete,
	.inputs = 1,
	.state_size = sizeof(struct softmax),
};

/* ---- Bytes ---- */

/* Factors as nn_softmax_q8_factor() makes them. */
#define NN_STATE struct softmax_q8
static const struct nn_field fields_q8[] = {
	ROWS(1), FLIP(tables.flip),
	WORD(factor.value, 1 << 30, INT32_MAX), WORD(factor.shift, 1, 31),
	END
};

static bool complete_q8(void *state, struct nn_ready *ready)
{
	struct softmax_q8 *s = state;

	nn_softmax_q8_init(&s->tables, s->tables.flip, &s->factor);
	return complete(s, ready);
}

static bool prepare_q8(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct nn_multiplier factor;
	struct softmax_q8 *s;
	struct rows rows;

	if (r->op->code != NN_OP_SOFTMAX || (x->type != NN_TENSOR_QUANT8_ASYMM &&
					     x->type != NN_TENSOR_QUANT8_ASYMM_SIGNED) ||
	    !find_rows(r, ready, &rows) ||
	    !nn_softmax_q8_factor(x, nn_run_float(r, BETA, 1), &factor))
		return false;
	s = malloc(sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	s->rows = rows;
	s->factor = factor;
	s->tables.flip = nn_q8_of(x).flip;
	return complete_q8(s, ready);
}

static void run_q8(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct softmax_q8 *s = call->ready->state;
	const size_t end = end_of(&s->rows, task), elements = s->rows.elements;
	const uint8_t *in = call->inputs[X];
	uint8_t *out = call->outputs[0];

	(void)scratch;
	for (size_t row = task * s->rows.of_task; row < end; row++)
		nn_softmax_q8(&s->tables, in + row * elements, out + row * elements, elements, 1);
}

const struct nn_kernel nn_kernel_softmax_q8 = {
	.name = "softmax of bytes",
	.prepare = prepare_q8,
	.run = run_q8,
	.fields = fields_q8,
	.complete = complete_q8,
	.inputs = 1,
	.state_size = sizeof(struct softmax_q8),
};
