/* SPDX-License-Identifier: MIT */
/*
 * MAXIMUM and MINIMUM: quantised values are brought to the output's scale first.
 */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/check.h"
#include "ops/quant.h"

static enum nn_status check(const struct nn_check *c)
{
	static const struct nn_rule inputs[] = {
		{ NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }, { NN_SAME, 0, 0 },
	};
	static const struct nn_rule outputs[] = { { NN_SAME, 0, 0 } };

	return NN_CHECK_RULES(c, inputs, 2, outputs);
}

/* What each stored byte of both operands is in the output. */
struct requantised {
	uint8_t a[256];
	uint8_t b[256];
};

NN_ROW_FN(max_float, float, float, void, x > y || isnan(x) ? x : y)
NN_ROW_FN(min_float, float, float, void, x < y || isnan(x) ? x : y)
NN_ROW_FN(max_int, int32_t, int32_t, void, x > y ? x : y)
NN_ROW_FN(min_int, int32_t, int32_t, void, x < y ? x : y)
NN_ROW_FN(max_uint8, uint8_t, uint8_t, struct requantised, p->a[x] > p->b[y] ? p->a[x] : p->b[y])
NN_ROW_FN(min_uint8, uint8_t, uint8_t, struct requantised, p->a[x] < p->b[y] ? p->a[x] : p->b[y])
NN_ROW_FN(max_int8, uint8_t, int8_t, struct requantised,
	  (int8_t)p->a[x] > (int8_t)p->b[y] ? p->a[x] : p->b[y])
NN_ROW_FN(min_int8, uint8_t, int8_t, struct requantised,
	  (int8_t)p->a[x] < (int8_t)p->b[y] ? p->a[x] : p->b[y])

/* Where nothing is requantised bytes are compared. */
NN_ROW_FN(max_bytes, uint8_t, uint8_t, void, x > y ? x : y)
NN_ROW_FN(min_bytes, uint8_t, uint8_t, void, x < y ? x : y)
NN_ROW_FN(max_signed, int8_t, int8_t, void, x > y ? x : y)
NN_ROW_FN(min_signed, int8_t, int8_t, void, x < y ? x : y)

static enum nn_status execute(struct nn_run *r, bool is_max, nn_row_fn *on_float, nn_row_fn *on_int,
			      nn_row_fn *on_uint8, nn_row_fn *on_int8)
{
	const struct nn_tensor *a = &r->inputs[0], *b = &r->inputs[1], *out = &r->outputs[0];
	const bool is_signed = a->type != NN_TENSOR_QUANT8_ASYMM;
	struct requantised requantised;

	switch (a->type) {
	case NN_TENSOR_FLOAT32:
		nn_broadcast(r, on_float, NULL);
		break;
	case NN_TENSOR_INT32:
		nn_broadcast(r, on_int, NULL);
		break;
	default:
		if (nn_tensor_quantised_alike(a, out) && nn_tensor_quantised_alike(b, out)) {
			nn_broadcast(r, is_max ? is_signed ? max_signed : max_bytes :
				     is_signed ? min_signed : min_bytes, NULL);
			break;
		}
		nn_requantize_table(a, out, requantised.a);
		nn_requantize_table(b, out, requantised.b);
		nn_broadcast(r, is_signed ? on_int8 : on_uint8, &requantised);
	}
	return NN_OK;
}

static enum nn_status execute_maximum(struct nn_run *r)
{
	return execute(r, true, max_float, max_int, max_uint8, max_int8);
}

static enum nn_status execute_minimum(struct nn_run *r)
{
	return execute(r, false, min_float, min_int, min_uint8, min_int8);
}

const struct nn_op nn_op_MAXIMUM = {
	.code = NN_OP_MAXIMUM,
	.name = "MAXIMUM",
	.float16_as_float32 = true,
	.check = check,
	.infer = nn_broadcast_infer,
	.execute = execute_maximum,
};

const struct nn_op nn_op_MINIMUM = {
	.code = NN_OP_MINIMUM,
	.name = "MINIMUM",
	.float16_as_float32 = true,
	.check = check,
	.infer = nn_broadcast_infer,
	.execute = execute_minimum,
};
