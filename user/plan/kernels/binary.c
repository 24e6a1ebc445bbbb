/* SPDX-License-Identifier: MIT */
/*
 * ADD, SUB, MUL, DIV, MAXIMUM and MINIMUM of floats, of shapes that broadcast.
 */
#include <math.h>
#include <stdlib.h>

#include "ops/broadcast.h"
#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"

enum { A, B, ACTIVATION };

struct binary {
	struct nn_broadcast_axes axes;
	size_t rows;			/* the product of all axes but the last */
	size_t task_rows;
	size_t task_count;		/* elements of a task, where there is one row */
	struct nn_binary_f32 f32;	/* but for its pointers */
};

static const struct {
	int32_t code;
	enum nn_binary operation;
	bool clamps;			/* input 2 is an activation */
} operations[] = {
	{ NN_CODE_ADD, NN_BINARY_ADD, true },
	{ 18, NN_BINARY_MUL, true },	/* MUL */
	{ 30, NN_BINARY_DIV, true },	/* DIV */
	{ 36, NN_BINARY_SUB, true },	/* SUB */
	{ 65, NN_BINARY_MAX, false },	/* MAXIMUM */
	{ 66, NN_BINARY_MIN, false },	/* MINIMUM */
};

/* Cuts the rows, or the only one. */
static uint32_t divide(struct binary *s, uint32_t threads)
{
	size_t row = s->axes.dims[s->axes.count - 1], count;
	uint32_t tasks;

	s->rows = 1;
	for (uint32_t i = 0; i + 1 < s->axes.count; i++)
		s->rows *= s->axes.dims[i];
	tasks = nn_elementwise_divide(threads, s->rows * row, &count);
	s->task_count = s->rows > 1 ? row : count;
	s->task_rows = (s->rows + tasks - 1) / tasks;
	return s->rows > 1 ? (uint32_t)((s->rows + s->task_rows - 1) / s->task_rows) : tasks;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct binary *s;
	size_t i = 0;

	while (i < sizeof(operations) / sizeof(operations[0]) &&
	       operations[i].code != r->op->code)
		i++;
	if (i == sizeof(operations) / sizeof(operations[0]) ||
	    r->inputs[A].type != NN_TENSOR_FLOAT32 || !nn_tensor_count(&r->outputs[0]))
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	s->f32 = (struct nn_binary_f32){
		.operation = operations[i].operation,
		.low = -INFINITY,
		.high = INFINITY,
	};
	if (operations[i].clamps &&
	    !nn_fused_range_float(nn_run_int(r, ACTIVATION, 0), &s->f32.low, &s->f32.high))
		return false;
	nn_broadcast_axes(r, &s->axes);
	s->f32.one_a = !s->axes.steps_a[s->axes.count - 1];
	s->f32.one_b = !s->axes.steps_b[s->axes.count - 1];
	ready->tasks = divide(s, ready->threads);
	return true;
}

/* Where the rows of both operands lie that make row `row` of the output. */
static void find_row(const struct nn_broadcast_axes *x, size_t row, size_t *a, size_t *b)
{
	*a = 0;
	*b = 0;
	for (uint32_t i = x->count - 1; i-- > 0; row /= x->dims[i]) {
		*a += row % x->dims[i] * x->steps_a[i];
		*b += row % x->dims[i] * x->steps_b[i];
	}
}

static void run_one(const struct nn_kernel_call *call, const struct binary *s, size_t first)
{
	size_t left = s->axes.dims[0] - first;
	struct nn_binary_f32 f32 = s->f32;

	f32.count = left < s->task_count ? left : s->task_count;
	f32.a = (const float *)call->inputs[A] + (f32.one_a ? 0 : first);
	f32.b = (const float *)call->inputs[B] + (f32.one_b ? 0 : first);
	f32.out = (float *)call->outputs[0] + first;
	call->ready->isa->binary_f32(&f32);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct binary *s = call->ready->state;
	size_t first = task * s->task_rows, end = first + s->task_rows;
	struct nn_binary_f32 f32 = s->f32;

	(void)scratch;
	if (s->rows == 1) {
		run_one(call, s, task * s->task_count);
		return;
	}
	f32.count = s->axes.dims[s->axes.count - 1];
	for (size_t row = first; row < end && row < s->rows; row++) {
		size_t a, b;

		find_row(&s->axes, row, &a, &b);
		f32.a = (const float *)call->inputs[A] + a;
		f32.b = (const float *)call->inputs[B] + b;
		f32.out = (float *)call->outputs[0] + row * f32.count;
		call->ready->isa->binary_f32(&f32);
	}
}

const struct nn_kernel nn_kernel_binary = {
	.name = "arithmetic",
	.prepare = prepare,
	.run = run,
};
