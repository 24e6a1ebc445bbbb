/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of floats along the last axis.
 */
#include <stdlib.h>

#include "ops/axis.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"

enum { X, BETA, AXIS };

struct softmax {
	size_t rows;
	size_t task_rows;
	size_t row;			/* elements */
	float beta;
};

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X];
	struct softmax *s;
	uint32_t axis, tasks;
	size_t count;

	if (r->op->code != NN_CODE_SOFTMAX || x->type != NN_TENSOR_FLOAT32 ||
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
	tasks = nn_elementwise_divide(ready->threads, nn_tensor_count(x), &count);
	s->task_rows = (s->rows + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((s->rows + s->task_rows - 1) / s->task_rows);
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
};
