/* SPDX-License-Identifier: MIT */
/*
 * LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT: any byte but 0 is true.
 */
#include "ops/axis.h"
#include "ops/broadcast.h"
#include "ops/check.h"

#define BOOLS NN_T(NN_TENSOR_BOOL8)

static enum nn_status check_two(const struct nn_check *c)
{
	static const struct nn_rule inputs[] = { { BOOLS, 0, 0 }, { BOOLS, 0, 0 } };
	static const struct nn_rule outputs[] = { { BOOLS, 0, 0 } };

	return NN_CHECK_RULES(c, inputs, 2, outputs);
}

static enum nn_status check_not(const struct nn_check *c)
{
	static const struct nn_rule inputs[] = { { BOOLS, 0, 0 } };
	static const struct nn_rule outputs[] = { { BOOLS, 0, 0 } };

	return NN_CHECK_RULES(c, inputs, 1, outputs);
}

static enum nn_status infer_not(struct nn_run *r)
{
	nn_tensor_like(&r->outputs[0], &r->inputs[0]);
	return NN_OK;
}

NN_ROW_FN(logical_and, uint8_t, uint8_t, void, !!x & !!y)
NN_ROW_FN(logical_or, uint8_t, uint8_t, void, !!(x | y))

static enum nn_status execute_and(struct nn_run *r)
{
	nn_broadcast(r, logical_and, NULL);
	return NN_OK;
}

static enum nn_status execute_or(struct nn_run *r)
{
	nn_broadcast(r, logical_or, NULL);
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

const struct nn_op nn_op_LOGICAL_AND = {
	.code = NN_OP_LOGICAL_AND,
	.name = "LOGICAL_AND",
	.check = check_two,
	.infer = nn_broadcast_infer,
	.execute = execute_and,
};

const struct nn_op nn_op_LOGICAL_NOT = {
	.code = NN_OP_LOGICAL_NOT,
	.name = "LOGICAL_NOT",
	.check = check_not,
	.infer = infer_not,
	.execute = execute_not,
};

const struct nn_op nn_op_LOGICAL_OR = {
	.code = NN_OP_LOGICAL_OR,
	.name = "LOGICAL_OR",
	.check = check_two,
	.infer = nn_broadcast_infer,
	.execute = execute_or,
};
