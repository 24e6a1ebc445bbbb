/* SPDX-License-Identifier: MIT */
/*
 * ADD of tensors of bytes of one shape.
 */
#include <stdlib.h>

#include "ops/q8.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/quant8.h"

enum { A, B, ACTIVATION };

struct add {
	size_t count;
	size_t task_count;		/* elements of a task */
	struct nn_add_q8 q8;		/* but for its pointers */
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
	struct add *s;

	if (r->op->code != NN_CODE_ADD || !ready->isa->add_q8 || !nn_tensor_count(a) ||
	    (a->type != NN_TENSOR_QUANT8_ASYMM && a->type != NN_TENSOR_QUANT8_ASYMM_SIGNED) ||
	    !is_same_shape(a, &r->inputs[B]) || !is_same_shape(a, out))
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	ready->state = s;
	s->count = nn_tensor_count(a);
	if (!prepare_q8(r, &s->q8))
		return false;
	ready->tasks = nn_elementwise_divide(ready->threads, s->count, &s->task_count);
	return true;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct add *s = call->ready->state;
	size_t first = task * s->task_count, left = s->count - first;
	struct nn_add_q8 q8 = s->q8;

	(void)scratch;
	q8.count = left < s->task_count ? left : s->task_count;
	q8.a = (const uint8_t *)call->inputs[A] + first;
	q8.b = (const uint8_t *)call->inputs[B] + first;
	q8.out = (uint8_t *)call->outputs[0] + first;
	call->ready->isa->add_q8(&q8);
}

const struct nn_kernel nn_kernel_add = {
	.name = "sum",
	.prepare = prepare,
	.run = run,
};
