/* SPDX-License-Identifier: MIT */
/*
 * ADD of tensors of one shape.
 */
#include <stdlib.h>

#include "ops/q8.h"
#include "plan/kernels/families.h"
#include "plan/kernels/quant8.h"

enum { A, B, ACTIVATION };

#define TASKS_PER_THREAD 4
#define MIN_SHARED 50000	/* elements that are worth a second thread */

struct add {
	bool is_float;
	size_t element;
	size_t count;
	size_t task_count;		/* elements of a task */
	struct nn_add_f32 f32;		/* but for its pointers */
	struct nn_add_q8 q8;
};

static bool is_same_shape(const struct nn_tensor *a, const struct nn_tensor *b)
{
	bool same = a->rank == b->rank;

	for (uint32_t i = 0; same && i < a->rank; i++)
		same = a->dims[i] == b->dims[i];
	return same;
}

static bool encode(double factor, struct nn_q8_factor *f)
{
	struct nn_multiplier m;

	if (!nn_quant_encode_below_one(factor, &m))
		return false;
	*f = (struct nn_q8_factor){ m.value, -m.shift };
	return true;
}

/* Both inputs at twice the larger scale, with 20 bits more. */
static bool prepare_q8(const struct nn_run *r, struct nn_add_q8 *q)
{
	const struct nn_tensor *a = &r->inputs[A], *b = &r->inputs[B], *out = &r->outputs[0];
	double scale_a = (double)a->scale, scale_b = (double)b->scale;
	double common = 2 * (scale_a > scale_b ? scale_a : scale_b);
	int32_t low, high, bias = a->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128;

	if (!encode(scale_a / common, &q->a_factor) || !encode(scale_b / common, &q->b_factor) ||
	    !encode(common / (0x1p20 * (double)out->scale), &q->out_factor) ||
	    !nn_fused_range(nn_run_int(r, ACTIVATION, 0), out->type, out->scale, out->zero_point,
			    &low, &high))
		return false;
	q->flip = nn_q8_of(a).flip;
	q->a_zero = nn_q8_of(a).zero;
	q->b_zero = nn_q8_of(b).zero;
	q->output = (struct nn_q8_output){ nn_q8_of(out).zero, low + bias, high + bias };
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *a = &r->inputs[A], *out = &r->outputs[0];
	uint32_t tasks = ready->threads > 1 ? ready->threads * TASKS_PER_THREAD : 1;
	struct add *s;

	if (r->op->code != NN_CODE_ADD || !is_same_shape(a, &r->inputs[B]) ||
	    !is_same_shape(a, out) || !nn_tensor_count(a))
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	s->is_float = a->type == NN_TENSOR_FLOAT32;
	s->element = s->is_float ? sizeof(float) : 1;
	s->count = nn_tensor_count(a);
	if (s->is_float ? !nn_fused_range_float(nn_run_int(r, ACTIVATION, 0), &s->f32.low,
						&s->f32.high) :
	    !ready->isa->add_q8 || (a->type != NN_TENSOR_QUANT8_ASYMM &&
				    a->type != NN_TENSOR_QUANT8_ASYMM_SIGNED) ||
	    !prepare_q8(r, &s->q8))
		return false;
	s->task_count = s->count < MIN_SHARED ? s->count : (s->count / tasks + 64) / 64 * 64;
	ready->tasks = (uint32_t)((s->count + s->task_count - 1) / s->task_count);
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct add *s = call->ready->state;
	size_t first = task * s->task_count, left = s->count - first;
	size_t count = left < s->task_count ? left : s->task_count;
	const char *a = (const char *)call->inputs[A] + first * s->element;
	const char *b = (const char *)call->inputs[B] + first * s->element;
	char *out = (char *)call->outputs[0] + first * s->element;

	(void)scratch;
	if (s->is_float) {
		struct nn_add_f32 f32 = s->f32;

		f32.count = count;
		f32.a = (const float *)a;
		f32.b = (const float *)b;
		f32.out = (float *)out;
		call->ready->isa->add_f32(&f32);
	} else {
		struct nn_add_q8 q8 = s->q8;

		q8.count = count;
		q8.a = (const uint8_t *)a;
		q8.b = (const uint8_t *)b;
		q8.out = (uint8_t *)out;
		call->ready->isa->add_q8(&q8);
	}
}

const struct nn_kernel nn_kernel_add = {
	.name = "sum",
	.prepare = prepare,
	.run = run,
};
