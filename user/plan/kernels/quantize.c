/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZE of floats.
 */
#include <stdlib.h>

#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"

struct quantize {
	size_t count;
	size_t task_count;		/* elements of a task */
	struct nn_quantize_f32 f32;	/* but for its pointers */
};

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0], *out = &r->outputs[0];
	struct quantize *q;
	int32_t low, high;

	if (r->op->code != NN_CODE_QUANTIZE || x->type != NN_TENSOR_FLOAT32 || !nn_tensor_count(x))
		return false;
	q = calloc(1, sizeof(*q));
	if (!q)
		return false;
	ready->state = q;
	nn_quant_range(out->type, &low, &high);
	q->f32.scale = out->scale;
	q->f32.zero = (float)out->zero_point;
	q->f32.low = (float)(low - out->zero_point);
	q->f32.high = (float)(high - out->zero_point);
	q->count = nn_tensor_count(x);
	ready->tasks = nn_elementwise_divide(ready->threads, q->count, &q->task_count);
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct quantize *q = call->ready->state;
	size_t first = task * q->task_count, left = q->count - first;
	struct nn_quantize_f32 f32 = q->f32;

	(void)scratch;
	f32.count = left < q->task_count ? left : q->task_count;
	f32.in = (const float *)call->inputs[0] + first;
	f32.out = (uint8_t *)call->outputs[0] + first;
	call->ready->isa->quantize_f32(&f32);
}

const struct nn_kernel nn_kernel_quantize = {
	.name = "quantisation",
	.prepare = prepare,
	.run = run,
};
