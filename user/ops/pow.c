/* SPDX-License-Identifier: MIT */
/* POW: raises a base to the power of an exponent, with broadcasting. */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/check.h"

NN_ROW_FN(pow_float, float, float, void, powf(x, y))

static enum nn_status execute(struct nn_run *r)
{
	nn_broadcast(r, pow_float, NULL);
	return NN_OK;
}

NN_OPERATION(POW,
	NN_INPUTS(2, { NN_FLOATS, 0, 0 }, { NN_SAME, 0, 0 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.float16_as_float32 = true,
	.infer = nn_broadcast_infer, .execute = execute);
