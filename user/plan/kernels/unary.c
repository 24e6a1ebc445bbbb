/* SPDX-License-Identifier: MIT */
/*
 * Functions of one float: activations and the like.
 */
#include <float.h>
#include <stdlib.h>

#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/fields.h"

struct unary {
	bool is_half;			/* a CLAMP of float16 */
	size_t count;
	size_t task_count;		/* elements of a task */
	struct nn_unary_f32 f32;	/* but for its pointers */
};

static const struct {
	int32_t code;
	enum nn_unary function;
	int32_t activation;		/* of CLAMP */
} functions[] = {
	{ NN_OP_LOGISTIC, NN_UNARY_LOGISTIC, 0 },
	{ NN_OP_RELU, NN_UNARY_CLAMP, 1 },
	{ NN_OP_RELU1, NN_UNARY_CLAMP, 2 },
	{ NN_OP_RELU6, NN_UNARY_CLAMP, 3 },
	{ NN_OP_TANH, NN_UNARY_TANH, 0 },
	{ NN_OP_ABS, NN_UNARY_ABS, 0 },
	{ NN_OP_EXP, NN_UNARY_EXP, 0 },
	{ NN_OP_NEG, NN_UNARY_NEG, 0 },
	{ NN_OP_RSQRT, NN_UNARY_RSQRT, 0 },
	{ NN_OP_SQRT, NN_UNARY_SQRT, 0 },
	{ NN_OP_ELU, NN_UNARY_ELU, 0 },
	{ NN_OP_HARD_SWISH, NN_UNARY_HARD_SWISH, 0 },
	{ NN_OP_LOG, NN_UNARY_LOG, 0 },
	{ NN_OP_SIN, NN_UNARY_SIN, 0 },
	{ NN_OP_FLOOR, NN_UNARY_FLOOR, 0 },
};

#define NN_STATE struct unary
static const struct nn_field fields[] = {
	WORD(f32.function, 0, NN_UNARY_FLOOR), FLAG(is_half), COUNT(count),
	FLOAT(f32.low), FLOAT(f32.high), FLOAT(f32.alpha),
	WHEN(is_half, SET, ONLY(f32.function, IS(NN_UNARY_CLAMP))),
	SPAN(INPUT(0), SIZE_BY(is_half, 0x24), count),
	SPAN(OUTPUT(0), SIZE_BY(is_half, 0x24), count),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct unary *u = state;

	ready->tasks = nn_elementwise_divide(ready->threads, u->count, &u->task_count);
	return !u->is_half || ready->isa->binary_f16;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct unary *u;
	size_t i = 0;

	while (i < sizeof(functions) / sizeof(functions[0]) && functions[i].code != r->op->code)
		i++;
	if (i == sizeof(functions) / sizeof(functions[0]) ||
	    (r->inputs[0].type != NN_TENSOR_FLOAT32 &&
	     (r->inputs[0].type != NN_TENSOR_FLOAT16 || functions[i].function != NN_UNARY_CLAMP)) ||
	    !nn_tensor_count(&r->inputs[0]))
		return false;
	u = calloc(1, sizeof(*u));
	if (!u)
		return false;
	ready->state = u;
	u->is_half = r->inputs[0].type == NN_TENSOR_FLOAT16;
	u->f32.function = functions[i].function;
	if (u->f32.function == NN_UNARY_ELU)
		u->f32.alpha = nn_run_float(r, 1, 0);
	nn_fused_range_float(functions[i].activation, &u->f32.low, &u->f32.high);
	u->count = nn_tensor_count(&r->inputs[0]);
	return complete(u, ready);
}

/* As the larger of each and of what is below all; of NaN that is NaN. */
static void clamp_halves(const struct nn_kernel_call *call, const struct unary *u, size_t first,
			 size_t count)
{
	static const uint16_t least = 0xfc00;	/* minus infinity */
	const struct nn_binary_f32 b = {
		.operation = NN_BINARY_MAX,
		.count = count,
		.a = &least,
		.b = (const uint16_t *)call->inputs[0] + first,
		.one_a = true,
		.out = (uint16_t *)call->outputs[0] + first,
		.low = u->f32.low,
		.high = u->f32.high,
	};

	call->ready->isa->binary_f16(&b);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct unary *u = call->ready->state;
	size_t first = task * u->task_count, left = u->count - first;
	struct nn_unary_f32 f32 = u->f32;

	(void)scratch;
	f32.count = left < u->task_count ? left : u->task_count;
	if (u->is_half) {
		clamp_halves(call, u, first, f32.count);
		return;
	}
	f32.in = (const float *)call->inputs[0] + first;
	f32.out = (float *)call->outputs[0] + first;
	call->ready->isa->unary_f32(&f32);
}

const struct nn_kernel nn_kernel_unary = {
	.name = "function",
	.prepare = prepare,
	.run = run,
	.fields = fields,
	.complete = complete,
	.inputs = 1,
	.state_size = sizeof(struct unary),
};
