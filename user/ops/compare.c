/* SPDX-License-Identifier: MIT */
/*
 * EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL: quantised values are compared as
 * real numbers.
 */
#include "ops/broadcast.h"
#include "ops/check.h"
#include "ops/q8.h"
#include "ops/quant.h"

/* Tables for operands a and b: the real value of each of the 256 stored values. */
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

/* Defines the row kernels of a comparison operator, one for each type. */
#define OPERATOR(name, operator)							\
NN_ROW_FN(name##_float, float, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_int, int32_t, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_bool, uint8_t, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_signed, int8_t, uint8_t, void, x operator y)				\
NN_ROW_FN(name##_q8, uint8_t, uint8_t, struct reals, p->a[x] operator p->b[y])

OPERATOR(equal, ==)
OPERATOR(not_equal, !=)
OPERATOR(greater, >)
OPERATOR(greater_equal, >=)
OPERATOR(less, <)
OPERATOR(less_equal, <=)

struct kernels {
	nn_row_fn *on_float;
	nn_row_fn *on_int;
	/* kernel for rows of bool, and of uint8 values with equal quantisation */
	nn_row_fn *on_bool;
	nn_row_fn *on_signed;		/* kernel for rows of int8 values with equal quantisation */
	nn_row_fn *on_q8;
};

static enum nn_status execute(struct nn_run *r)
{
	const struct kernels *k = r->op->kernels;
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
		/*
		 * Do not compare stored values if the scale is huge, because different stored
		 * values may both stand for infinity and thus be equal.
		 */
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

#define COMPARISON(which, name)								\
NN_OPERATION(which,									\
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32) |			\
		       NN_T(NN_TENSOR_BOOL8), 0, 0 }, { NN_SAME, 0, 0 }),		\
	NN_OUTPUTS({ NN_T(NN_TENSOR_BOOL8), 0, 0 }),					\
	.float16_as_float32 = true, .infer = nn_broadcast_infer, .execute = execute,	\
	.kernels = &(const struct kernels){ name##_float, name##_int, name##_bool,	\
					    name##_signed, name##_q8 })

COMPARISON(EQUAL, equal);
COMPARISON(NOT_EQUAL, not_equal);
COMPARISON(GREATER, greater);
COMPARISON(GREATER_EQUAL, greater_equal);
COMPARISON(LESS, less);
COMPARISON(LESS_EQUAL, less_equal);
