/* SPDX-License-Identifier: MIT */
/* RANK: returns the number of a tensor's dimensions. */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"

static enum nn_status infer(struct nn_run *r)
{
	nn_tensor_set_rank(&r->outputs[0], 0);
	return NN_OK;
}

static enum nn_status execute(struct nn_run *r)
{
	int32_t rank = (int32_t)r->inputs[0].rank;

	memcpy(r->outputs[0].data, &rank, sizeof(rank));
	return NN_OK;
}

NN_OPERATION(RANK,
	NN_INPUTS(1, { NN_ANY_TENSOR, 0, 0 }),
	NN_OUTPUTS(NN_SCALAR_INT),
	.infer = infer, .execute = execute);
