/* SPDX-License-Identifier: MIT */
/* PRELU: multiplies negative values by the tensor alpha, which is broadcast to the input. */
#include "ops/broadcast.h"
#include "ops/check.h"
#include "ops/q8.h"
#include "ops/quant.h"

enum { X, ALPHA };

struct quantised {
	struct nn_q8 x;
	struct nn_q8 alpha;
	struct nn_q8 out;
	struct nn_multiplier positive;
	struct nn_multiplier negative;
};

static inline uint8_t prelu(const struct quantised *p, uint8_t x, uint8_t alpha)
{
	int32_t value = nn_q8_value(p->x, x);

	if (value >= 0)
		value = nn_quant_scale(value, &p->positive);
	else
		value = nn_quant_scale(value * nn_q8_value(p->alpha, alpha), &p->negative);
	return nn_q8_stored(p->out, value);
}

NN_ROW_FN(prelu_float, float, float, void, x >= 0 ? x : x * y)
NN_ROW_FN(prelu_q8, uint8_t, uint8_t, struct quantised, prelu(p, x, y))

static enum nn_status execute(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[X], *alpha = &r->inputs[ALPHA];
	const struct nn_tensor *out = &r->outputs[0];
	struct quantised p = {
		.x = nn_q8_of(x), .alpha = nn_q8_of(alpha), .out = nn_q8_of(out),
	};

	if (x->type == NN_TENSOR_FLOAT32) {
		nn_broadcast(r, prelu_float, NULL);
		return NN_OK;
	}
	if (!nn_quant_encode((double)x->scale / (double)out->scale, &p.positive) ||
	    !nn_quant_encode((double)(x->scale * alpha->scale) / (double)out->scale, &p.negative))
		return nn_run_fail(r, "scales %g and %g cannot be converted to %g",
				   (double)x->scale, (double)alpha->scale, (double)out->scale);
	nn_broadcast(r, prelu_q8, &p);
	return NN_OK;
}

NN_OPERATION(PRELU,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8, 0, 0 }, { NN_SAME, 0, 0 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.float16_as_float32 = true,
	.infer = nn_broadcast_infer, .execute = execute);
