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
#include "plan/kernels/saved.h"

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

/* Cuts the rows in tasks. */
static void divide(struct rows *rows, struct nn_ready *ready)
{
	size_t count;
	uint32_t tasks = nn_elementwise_divide(ready->threads, rows->count * rows->elements,
					       &count);

	rows->of_task = (rows->count + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((rows->count + rows->of_task - 1) / rows->of_task);
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
	divide(rows, ready);
	return true;
}

/* The same of numbers that anybody may have written. */
static bool restore_rows(uint32_t count, uint32_t elements, size_t element,
			 const struct nn_bounds *bounds, struct nn_ready *ready, struct rows *rows)
{
	uint64_t size = nn_times((uint64_t)count * elements, element);

	if (!count || !elements || !nn_fits(&bounds->inputs[X], size, element) ||
	    !nn_fits(&bounds->output, size, element))
		return false;
	*rows = (struct rows){ .count = count, .elements = elements };
	divide(rows, ready);
	return true;
}

static size_t end_of(const struct rows *rows, uint32_t task)
{
	size_t end = (task + 1) * rows->of_task;

	return end < rows->count ? end : rows->count;
}

/* ---- Floats ---- */

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

struct saved {
	uint32_t rows;
	uint32_t row;
	uint32_t is_log;
	float beta;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct softmax *s = ready->state;

	*(struct saved *)words = (struct saved){ (uint32_t)s->rows.count,
						 (uint32_t)s->rows.elements, s->is_log,
						 s->beta };
	return NN_WORDS(struct saved);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *from = (const struct saved *)words;
	struct softmax *s = state;

	if (count != NN_WORDS(*from) ||
	    !restore_rows(from->rows, from->row, sizeof(float), bounds, ready, &s->rows))
		return false;
	s->is_log = from->is_log;
	s->beta = from->beta;
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
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct softmax),
};

/* ---- Bytes ---- */

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
	nn_softmax_q8_init(&s->tables, nn_q8_of(x).flip, &factor);
	return true;
}

struct saved_q8 {
	uint32_t rows;
	uint32_t row;
	uint32_t flip;
	struct nn_multiplier factor;
};

static uint32_t save_q8(const struct nn_ready *ready, uint32_t *words)
{
	const struct softmax_q8 *s = ready->state;

	*(struct saved_q8 *)words = (struct saved_q8){ (uint32_t)s->rows.count,
						       (uint32_t)s->rows.elements,
						       s->tables.flip, s->factor };
	return NN_WORDS(struct saved_q8);
}

static bool restore_q8(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		       struct nn_ready *ready, void *state)
{
	const struct saved_q8 *from = (const struct saved_q8 *)words;
	struct softmax_q8 *s = state;

	/* Factors as nn_softmax_q8_factor() makes them. */
	if (count != NN_WORDS(*from) || (from->flip && from->flip != 0x80) ||
	    from->factor.value < 1 << 30 || from->factor.shift < 1 || from->factor.shift > 31 ||
	    !restore_rows(from->rows, from->row, 1, bounds, ready, &s->rows))
		return false;
	s->factor = from->factor;
	nn_softmax_q8_init(&s->tables, (uint8_t)from->flip, &from->factor);
	return true;
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
	.save = save_q8,
	.restore = restore_q8,
	.inputs = 1,
	.state_size = sizeof(struct softmax_q8),
};
