/* SPDX-License-Identifier: MIT */
/*
 * POW: a base to the power of an exponent, broadcast.
 */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/check.h"

static enum nn_status check(const struct nn_check *c)
{
	static const struct nn_rule inputs[] = { { NN_FLOATS, 0, 0 }, { NN_SAME, 0, 0 } };
	static const struct nn_rule outputs[] = { { NN_SAME, 0, 0 } };

	return NN_CHECK_RULES(c, inputs, 2, outputs);
}

NN_ROW_FN(pow_float, float, float, void, powf(x, y))

static enum nn_status execute(struct nn_run *r)
{
	nn_broadcast(r, pow_float, NULL);
	return NN_OK;
}

const struct nn_op nn_op_POW = {
	.code = NN_OP_POW,
	.name = "POW",
	.float16_as_float32 = true,
	.check = check,
	.infer = nn_broadcast_infer,
	.execute = execute,
};
