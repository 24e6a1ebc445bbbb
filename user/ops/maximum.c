/* SPDX-License-Identifier: MIT */
/*
 * MAXIMUM and MINIMUM. Quantised values are compared after conversion to the output's quantisation.
 */
#include <math.h>

#include "ops/broadcast.h"
#include "ops/check.h"
#include "ops/quant.h"

/* Tables that map the stored values of operands a and b to the output's quantisation. */
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

/* The kernels *_bytes and *_signed compare stored values, and need no requantisation. */
NN_ROW_FN(max_bytes, uint8_t, uint8_t, void, x > y ? x : y)
NN_ROW_FN(min_bytes, uint8_t, uint8_t, void, x < y ? x : y)
NN_ROW_FN(max_signed, int8_t, int8_t, void, x > y ? x : y)
NN_ROW_FN(min_signed, int8_t, int8_t, void, x < y ? x : y)

struct kernels {
	nn_row_fn *on_float;
	nn_row_fn *on_int;
	nn_row_fn *on_q8[2];		/* unsigned, signed */
	nn_row_fn *on_bytes[2];
};

static enum nn_status execute(struct nn_run *r)
{
	const struct nn_tensor *a = &r->inputs[0], *b = &r->inputs[1], *out = &r->outputs[0];
	const bool is_signed = a->type != NN_TENSOR_QUANT8_ASYMM;
	const struct kernels *k = r->op->kernels;
	struct requantised requantised;

	switch (a->type) {
	case NN_TENSOR_FLOAT32:
		nn_broadcast(r, k->on_float, NULL);
		break;
	case NN_TENSOR_INT32:
		nn_broadcast(r, k->on_int, NULL);
		break;
	default:
		if (nn_tensor_quantised_alike(a, out) && nn_tensor_quantised_alike(b, out)) {
			nn_broadcast(r, k->on_bytes[is_signed], NULL);
			break;
		}
		nn_requantize_table(a, out, requantised.a);
		nn_requantize_table(b, out, requantised.b);
		nn_broadcast(r, k->on_q8[is_signed], &requantised);
	}
	return NN_OK;
}

#define EXTREME(which, name)								\
NN_OPERATION(which,									\
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 },		\
		  { NN_SAME, 0, 0 }),							\
	NN_OUTPUTS({ NN_SAME, 0, 0 }),							\
	.float16_as_float32 = true, .infer = nn_broadcast_infer, .execute = execute,	\
	.kernels = &(const struct kernels){						\
		name##_float, name##_int, { name##_uint8, name##_int8 },		\
		{ name##_bytes, name##_signed } })

EXTREME(MAXIMUM, max);
EXTREME(MINIMUM, min);
