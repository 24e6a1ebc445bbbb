/* SPDX-License-Identifier: MIT */
/*
 * RANK: the number of a tensor's dimensions.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"

static enum nn_status check(const struct nn_check *c)
{
	static const struct nn_rule inputs[] = { { NN_ANY_TENSOR, 0, 0 } };
	static const struct nn_rule outputs[] = { NN_SCALAR_INT };

	return NN_CHECK_RULES(c, inputs, 1, outputs);
}

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

const struct nn_op nn_op_RANK = {
	.code = NN_OP_RANK,
	.name = "RANK",
	.check = check,
	.infer = infer,
	.execute = execute,
};
