/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZE of floats, and DEQUANTIZE to them of bytes of one scale.
 */
#include <stdlib.h>

#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/fields.h"

struct quantize {
	size_t count;
	size_t task_count;		/* elements of a task */
	struct nn_quantize_f32 f32;	/* but for its pointers */
};

#define NN_STATE struct quantize
/* Numbers that are no larger than the difference of two bytes. */
static const struct nn_field fields[] = {
	COUNT(count), FLOAT(f32.scale),
	FLOAT_WITHIN(f32.zero, UINT8_MAX), FLOAT_WITHIN(f32.low, UINT8_MAX),
	FLOAT_WITHIN(f32.high, UINT8_MAX),
	SPAN(INPUT(0), FLOATS, count), SPAN(OUTPUT(0), SIZE(1), count),
	END
};
#undef NN_STATE

static bool complete(void *state, struct nn_ready *ready)
{
	struct quantize *q = state;

	ready->tasks = nn_elementwise_divide(ready->threads, q->count, &q->task_count);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0], *out = &r->outputs[0];
	struct quantize *q;
	int32_t low, high;

	if (r->op->code != NN_OP_QUANTIZE || x->type != NN_TENSOR_FLOAT32 || !nn_tensor_count(x))
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
	return complete(q, ready);
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

/* ---- Back ---- */

struct dequantize {
	size_t count;
	size_t task_count;
	struct nn_dequantize_f32 f32;	/* but for its pointers */
};

#define NN_STATE struct dequantize
static const struct nn_field fields_back[] = {
	COUNT(count), FLOAT(f32.scale), BYTE(f32.flip), BYTE(f32.zero),
	SPAN(INPUT(0), SIZE(1), count), SPAN(OUTPUT(0), FLOATS, count),
	END
};

static bool complete_back(void *state, struct nn_ready *ready)
{
	struct dequantize *d = state;

	ready->tasks = nn_elementwise_divide(ready->threads, d->count, &d->task_count);
	return true;
}

static bool prepare_back(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct dequantize *d;

	if (r->op->code != NN_OP_DEQUANTIZE || !nn_tensor_count(x) ||
	    r->outputs[0].type != NN_TENSOR_FLOAT32 ||
	    (x->type != NN_TENSOR_QUANT8_ASYMM && x->type != NN_TENSOR_QUANT8_ASYMM_SIGNED))
		return false;
	d = calloc(1, sizeof(*d));
	if (!d)
		return false;
	ready->state = d;
	d->f32.scale = x->scale;
	/* A flipped sign bit makes a signed byte 128 larger. */
	d->f32.flip = x->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 0x80;
	d->f32.zero = x->zero_point + d->f32.flip;
	d->count = nn_tensor_count(x);
	return complete_back(d, ready);
}

static void run_back(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct dequantize *d = call->ready->state;
	size_t first = task * d->task_count, left = d->count - first;
	struct nn_dequantize_f32 f32 = d->f32;

	(void)scratch;
	f32.count = left < d->task_count ? left : d->task_count;
	f32.in = (const uint8_t *)call->inputs[0] + first;
	f32.out = (float *)call->outputs[0] + first;
	call->ready->isa->dequantize_f32(&f32);
}

const struct nn_kernel nn_kernel_dequantize = {
	.name = "dequantisation",
	.prepare = prepare_back,
	.run = run_back,
	.fields = fields_back,
	.complete = complete_back,
	.inputs = 1,
	.state_size = sizeof(struct dequantize),
};

const struct nn_kernel nn_kernel_quantize = {
	.name = "quantisation",
	.prepare = prepare,
	.run = run,
	.fields = fields,
	.complete = complete,
	.inputs = 1,
	.state_size = sizeof(struct quantize),
};
