/* SPDX-License-Identifier: MIT */
/*
 * EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL: quantised
 * values are compared as the real numbers that they stand for.
 */
#include "ops/broadcast.h"
#include "ops/check.h"
#include "ops/q8.h"
#include "ops/quant.h"

static enum nn_status check(const struct nn_check *c)
{
	static const struct nn_rule inputs[] = {
		{ NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32) | NN_T(NN_TENSOR_BOOL8), 0, 0 },
		{ NN_SAME, 0, 0 },
	};
	static const struct nn_rule outputs[] = { { NN_T(NN_TENSOR_BOOL8), 0, 0 } };

	return NN_CHECK_RULES(c, inputs, 2, outputs);
}

/* The real number of each stored byte of both operands. */
struct reals {
	float a[256];
	float b[256];
};

static void fill_reals(float *reals, const struct nn_tensor *t)
{
	struct nn_q8 q = nn_q8_of(t);

	for (uint32_t byte = 0; byte < 256; byte++)
		reals[byte] = t->scale * (float)nn_q8_value(q, (uint8_t)byte);
}

#define COMPARISON(name, operator)							\
NN_ROW_FN(name##_float, float, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_int, int32_t, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_bool, uint8_t, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_signed, int8_t, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_q8, uint8_t, uint8_t, struct reals, p->a[x] operator p->b[y])

COMPARISON(equal, ==)
COMPARISON(not_equal, !=)
COMPARISON(greater, >)
COMPARISON(greater_equal, >=)
COMPARISON(less, <)
COMPARISON(less_equal, <=)

/* The kernels of an operation. */
struct kernels {
	int32_t code;
	nn_row_fn *on_float;
	nn_row_fn *on_int;
	nn_row_fn *on_bool;		/* and on unsigned bytes that are quantised alike */
	nn_row_fn *on_signed;		/* the same of signed ones */
	nn_row_fn *on_q8;
};

#define KERNELS(code, name) { code, name##_float, name##_int, name##_bool, name##_signed, name##_q8 }

static const struct kernels *kernels_of(int32_t code)
{
	static const struct kernels all[] = {
		KERNELS(NN_OP_EQUAL, equal),
		KERNELS(NN_OP_NOT_EQUAL, not_equal),
		KERNELS(NN_OP_GREATER, greater),
		KERNELS(NN_OP_GREATER_EQUAL, greater_equal),
		KERNELS(NN_OP_LESS, less),
		KERNELS(NN_OP_LESS_EQUAL, less_equal),
	};
	const struct kernels *k = all;

	while (k->code != code)
		k++;
	return k;
}

static enum nn_status execute(struct nn_run *r)
{
	const struct kernels *k = kernels_of(r->op->code);
	struct reals reals;

	switch (r->inputs[0].type) {
	case NN_TENSOR_FLOAT32:
		nn_broadcast(r, k->on_float, NULL);
		break;
	case NN_TENSOR_INT32:
		nn_broadcast(r, k->on_int, NULL);
		break;
	case NN_TENSOR_BOOL8:
		nn_broadcast(r, k->on_bool, NULL);
		break;
	default:
		/* Of scales beyond any use different bytes may be infinite, and so the same. */
		if (nn_tensor_quantised_alike(&r->inputs[0], &r->inputs[1]) &&
		    r->inputs[0].scale < 1e30f) {
			nn_broadcast(r, r->inputs[0].type == NN_TENSOR_QUANT8_ASYMM ? k->on_bool :
				     k->on_signed, NULL);
			break;
		}
		fill_reals(reals.a, &r->inputs[0]);
		fill_reals(reals.b, &r->inputs[1]);
		nn_broadcast(r, k->on_q8, &reals);
	}
	return NN_OK;
}

NN_FLOAT_OP(EQUAL, check, nn_broadcast_infer, execute);
NN_FLOAT_OP(GREATER, check, nn_broadcast_infer, execute);
NN_FLOAT_OP(GREATER_EQUAL, check, nn_broadcast_infer, execute);
NN_FLOAT_OP(LESS, check, nn_broadcast_infer, execute);
NN_FLOAT_OP(LESS_EQUAL, check, nn_broadcast_infer, execute);
NN_FLOAT_OP(NOT_EQUAL, check, nn_broadcast_infer, execute);
