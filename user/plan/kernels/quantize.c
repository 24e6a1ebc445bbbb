/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZE of floats, and DEQUANTIZE to them of bytes of one scale.
 */
#include <stdlib.h>

#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

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
	ready->tasks = nn_elementwise_divide(ready->threads, q->count, &q->task_count);
	return true;
}

struct saved {
	uint32_t count;
	float scale;
	float zero;
	float low;
	float high;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct quantize *q = ready->state;

	*(struct saved *)words = (struct saved){ (uint32_t)q->count, q->f32.scale, q->f32.zero,
						 q->f32.low, q->f32.high };
	return NN_WORDS(struct saved);
}

/* A number that is one, and no larger than the difference of two bytes. */
static bool is_byte(float x)
{
	return x >= -UINT8_MAX && x <= UINT8_MAX;
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	struct quantize *q = state;

	if (count != NN_WORDS(*s) || !s->count ||
	    !nn_fits(&bounds->inputs[0], s->count * sizeof(float), sizeof(float)) ||
	    !nn_fits(&bounds->output, s->count, 1) || !is_byte(s->zero) || !is_byte(s->low) ||
	    !is_byte(s->high))
		return false;
	q->f32.scale = s->scale;
	q->f32.zero = s->zero;
	q->f32.low = s->low;
	q->f32.high = s->high;
	q->count = s->count;
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

/* ---- Back ---- */

struct dequantize {
	size_t count;
	size_t task_count;
	struct nn_dequantize_f32 f32;	/* but for its pointers */
};

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
	ready->tasks = nn_elementwise_divide(ready->threads, d->count, &d->task_count);
	return true;
}

struct saved_back {
	uint32_t count;
	float scale;
	uint32_t flip;
	int32_t zero;
};

static uint32_t save_back(const struct nn_ready *ready, uint32_t *words)
{
	const struct dequantize *d = ready->state;

	*(struct saved_back *)words = (struct saved_back){ (uint32_t)d->count, d->f32.scale,
							   d->f32.flip, d->f32.zero };
	return NN_WORDS(struct saved_back);
}

static bool restore_back(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
			 struct nn_ready *ready, void *state)
{
	const struct saved_back *s = (const struct saved_back *)words;
	struct dequantize *d = state;

	if (count != NN_WORDS(*s) || !s->count || !nn_fits(&bounds->inputs[0], s->count, 1) ||
	    !nn_fits(&bounds->output, s->count * sizeof(float), sizeof(float)) ||
	    s->flip > UINT8_MAX || s->zero < 0 || s->zero > UINT8_MAX)
		return false;
	d->f32 = (struct nn_dequantize_f32){ .scale = s->scale, .flip = (uint8_t)s->flip,
					     .zero = s->zero };
	d->count = s->count;
	ready->tasks = nn_elementwise_divide(ready->threads, d->count, &d->task_count);
	return true;
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
	.save = save_back,
	.restore = restore_back,
	.inputs = 1,
	.state_size = sizeof(struct dequantize),
};

const struct nn_kernel nn_kernel_quantize = {
	.name = "quantisation",
	.prepare = prepare,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct quantize),
};
