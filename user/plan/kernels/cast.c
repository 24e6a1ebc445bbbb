/* SPDX-License-Identifier: MIT */
/*
 * CAST from float16 to float32 and back.
 */
#include <stdlib.h>

#include "ops/float16.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/families.h"
#include "plan/kernels/fields.h"

struct cast {
	bool widens;
	size_t count;
	size_t task_count;		/* elements of a task */
};

#define NN_STATE struct cast
static const struct nn_field fields[] = {
	FLAG(widens), COUNT(count),
	SPAN(INPUT(0), SIZE_BY(widens, 0x24), count),
	SPAN(OUTPUT(0), SIZE_BY(widens, 0x42), count),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct cast *c = state;

	ready->tasks = nn_elementwise_divide(ready->threads, c->count, &c->task_count);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	int32_t from = r->inputs[0].type, to = r->outputs[0].type;
	bool widens = from == NN_TENSOR_FLOAT16 && to == NN_TENSOR_FLOAT32;
	struct cast *c;

	if (r->op->code != NN_OP_CAST || !nn_tensor_count(&r->inputs[0]) ||
	    (!widens && (from != NN_TENSOR_FLOAT32 || to != NN_TENSOR_FLOAT16)))
		return false;
	c = calloc(1, sizeof(*c));
	if (!c)
		return false;
	ready->state = c;
	c->widens = widens;
	c->count = nn_tensor_count(&r->inputs[0]);
	return complete(c, ready);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct cast *c = call->ready->state;
	size_t first = task * c->task_count, left = c->count - first;
	size_t count = left < c->task_count ? left : c->task_count;

	(void)scratch;
	if (c->widens)
		nn_halves_to_floats((const uint16_t *)call->inputs[0] + first,
				    (float *)call->outputs[0] + first, count);
	else
		nn_floats_to_halves((const float *)call->inputs[0] + first,
				    (uint16_t *)call->outputs[0] + first, count);
}

const struct nn_kernel nn_kernel_cast = {
	.name = "conversion",
	.prepare = prepare,
	.run = run,
	.fields = fields,
	.complete = complete,
	.inputs = 1,
	.state_size = sizeof(struct cast),
};
