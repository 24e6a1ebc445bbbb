/* SPDX-License-Identifier: MIT */
/*
 * Functions of one float: activations and the like.
 */
#include <float.h>
#include <stdlib.h>

#include "ops/quant.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/saved.h"

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

static bool takes_type(const struct nn_isa *isa, int32_t type, enum nn_unary function)
{
	return type == NN_TENSOR_FLOAT32 ||
	       (type == NN_TENSOR_FLOAT16 && isa->binary_f16 && function == NN_UNARY_CLAMP);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct unary *u;
	size_t i = 0;

	while (i < sizeof(functions) / sizeof(functions[0]) && functions[i].code != r->op->code)
		i++;
	if (i == sizeof(functions) / sizeof(functions[0]) ||
	    !takes_type(ready->isa, r->inputs[0].type, functions[i].function) ||
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
	ready->tasks = nn_elementwise_divide(ready->threads, u->count, &u->task_count);
	return true;
}

struct saved {
	uint32_t function;
	uint32_t is_half;
	uint32_t count;
	float low;
	float high;
	float alpha;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct unary *u = ready->state;

	*(struct saved *)words = (struct saved){ u->f32.function, u->is_half,
						 (uint32_t)u->count, u->f32.low, u->f32.high,
						 u->f32.alpha };
	return NN_WORDS(struct saved);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	struct unary *u = state;
	size_t element;

	if (count != NN_WORDS(*s) || s->function > NN_UNARY_FLOOR || !s->count ||
	    !takes_type(ready->isa, s->is_half ? NN_TENSOR_FLOAT16 : NN_TENSOR_FLOAT32,
			s->function))
		return false;
	element = nn_number_size(s->is_half ? NN_IN_HALVES : NN_IN_FLOATS);
	if (!nn_fits(&bounds->inputs[0], s->count * element, element) ||
	    !nn_fits(&bounds->output, s->count * element, element))
		return false;
	*u = (struct unary){
		.is_half = s->is_half,
		.count = s->count,
		.f32 = { .function = s->function, .low = s->low, .high = s->high,
			 .alpha = s->alpha },
	};
	ready->tasks = nn_elementwise_divide(ready->threads, u->count, &u->task_count);
	return true;
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
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct unary),
};
