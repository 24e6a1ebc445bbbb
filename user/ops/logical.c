/* SPDX-License-Identifier: MIT */
/* LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT: every value except 0 counts as true. */
#include "ops/axis.h"
#include "ops/broadcast.h"
#include "ops/check.h"

#define BOOLS NN_T(NN_TENSOR_BOOL8)

NN_ROW_FN(logical_and, uint8_t, uint8_t, void, !!x & !!y)
NN_ROW_FN(logical_or, uint8_t, uint8_t, void, !!(x | y))

static enum nn_status execute(struct nn_run *r)
{
	nn_broadcast(r, *(nn_row_fn *const *)r->op->kernels, NULL);
	return NN_OK;
}

static enum nn_status execute_not(struct nn_run *r)
{
	const uint8_t *in = r->inputs[0].data;
	uint8_t *restrict out = r->outputs[0].data;
	size_t count = nn_tensor_count(&r->outputs[0]);

	for (size_t i = 0; i < count; i++)
		out[i] = !in[i];
	return NN_OK;
}

#define LOGICAL(which, kernel)								\
NN_OPERATION(which,									\
	NN_INPUTS(2, { BOOLS, 0, 0 }, { BOOLS, 0, 0 }),					\
	NN_OUTPUTS({ BOOLS, 0, 0 }),							\
	.infer = nn_broadcast_infer, .execute = execute,				\
	.kernels = &(nn_row_fn *const){ kernel })

LOGICAL(LOGICAL_AND, logical_and);
LOGICAL(LOGICAL_OR, logical_or);

NN_OPERATION(LOGICAL_NOT,
	NN_INPUTS(1, { BOOLS, 0, 0 }),
	NN_OUTPUTS({ BOOLS, 0, 0 }),
	.infer = nn_infer_like, .execute = execute_not);
