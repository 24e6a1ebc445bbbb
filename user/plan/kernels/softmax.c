/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of floats along the last axis.
 */
#include <stdlib.h>

#include "ops/axis.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

enum { X, BETA, AXIS };

struct softmax {
	size_t rows;
	size_t task_rows;
	size_t row;			/* elements */
	float beta;
};

/* Cuts the rows in tasks. */
static void divide(struct softmax *s, struct nn_ready *ready)
{
	size_t count;
	uint32_t tasks = nn_elementwise_divide(ready->threads, s->rows * s->row, &count);

	s->task_rows = (s->rows + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((s->rows + s->task_rows - 1) / s->task_rows);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct softmax *s;
	uint32_t axis;

	if (r->op->code != NN_OP_SOFTMAX || x->type != NN_TENSOR_FLOAT32 ||
	    !nn_tensor_count(x) || !nn_axis(nn_run_int(r, AXIS, -1), x->rank, &axis) ||
	    nn_tensor_product(x, axis + 1, x->rank) != 1)
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	s->beta = nn_run_float(r, BETA, 1);
	s->row = x->dims[axis];
	s->rows = nn_tensor_count(x) / s->row;
	divide(s, ready);
	return true;
}

struct saved {
	uint32_t rows;
	uint32_t row;
	float beta;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct softmax *s = ready->state;

	*(struct saved *)words = (struct saved){ (uint32_t)s->rows, (uint32_t)s->row, s->beta };
	return NN_WORDS(struct saved);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *from = (const struct saved *)words;
	struct softmax *s = state;
	uint64_t size;

	if (count != NN_WORDS(*from) || !from->rows || !from->row)
		return false;
	size = nn_times((uint64_t)from->rows * from->row, sizeof(float));
	if (!nn_fits(&bounds->inputs[X], size, sizeof(float)) ||
	    !nn_fits(&bounds->output, size, sizeof(float)))
		return false;
	*s = (struct softmax){ .rows = from->rows, .row = from->row, .beta = from->beta };
	divide(s, ready);
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct softmax *s = call->ready->state;
	size_t first = task * s->task_rows, end = first + s->task_rows;
	const float *in = call->inputs[X];
	float *out = call->outputs[0];

	(void)scratch;
	for (size_t row = first; row < end && row < s->rows; row++)
		call->ready->isa->softmax_f32(in + row * s->row, out + row * s->row, s->row,
					      s->beta);
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
