/* SPDX-License-Identifier: MIT */
/*
 * FLOOR, ABS, ERF, EXP, GELU, LOG, NEG, RSQRT, SIN and SQRT: elementwise functions.
 */
#include <math.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/q8.h"
#include "ops/quant.h"

/* Defines a kernel: each output element is `expression` of the input element x. */
#define KERNEL(name, element, expression)						\
static void name(const struct nn_run *r)						\
{											\
	const element *restrict in = r->inputs[0].data;					\
	element *restrict out = r->outputs[0].data;					\
	size_t count = nn_tensor_count(&r->outputs[0]);					\
											\
	for (size_t i = 0; i < count; i++) {						\
		element x = in[i];							\
											\
		out[i] = expression;							\
	}										\
}

KERNEL(floor_float, float, floorf(x))
KERNEL(abs_float, float, fabsf(x))
KERNEL(erf_float, float, erff(x))
KERNEL(exp_float, float, expf(x))
KERNEL(gelu_float, float, 0.5f * x * (1 + erff(x * (float)M_SQRT1_2)))
KERNEL(log_float, float, logf(x))
KERNEL(neg_float, float, -x)
KERNEL(rsqrt_float, float, 1 / sqrtf(x))
KERNEL(sin_float, float, sinf(x))
KERNEL(sqrt_float, float, sqrtf(x))
/* NEG and ABS are modulo 2^32, so the smallest integer is unchanged. */
KERNEL(abs_int, uint32_t, x >> 31 ? -x : x)
KERNEL(neg_int, uint32_t, -x)

/*
 * RSQRT of a number that is not above zero is the maximum of the output type, because the number
 * has no finite reciprocal root.
 */
static void rsqrt_q8(const struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0], *out = &r->outputs[0];
	size_t count = nn_tensor_count(out);
	const uint8_t *from = in->data;
	struct nn_q8 q = nn_q8_of(in);
	uint8_t *to = out->data;
	int32_t low, high;

	nn_quant_range(out->type, &low, &high);
	for (size_t i = 0; i < count; i++) {
		int32_t value = nn_q8_value(q, from[i]);
		float root = 1 / sqrtf((float)value * in->scale);

		to[i] = (uint8_t)(value > 0 ? nn_quantize(root, out->scale, out->zero_point, low,
							  high) : high);
	}
}

struct kernels {
	void (*on_float)(const struct nn_run *r);
	void (*on_others)(const struct nn_run *r);
};

static enum nn_status execute(struct nn_run *r)
{
	const struct kernels *k = r->op->kernels;

	if (r->inputs[0].type == NN_TENSOR_FLOAT32)
		k->on_float(r);
	else
		k->on_others(r);
	return NN_OK;
}

#define UNARY(which, others, most_rank, ...)						\
NN_OPERATION(which,									\
	NN_INPUTS(1, { NN_FLOATS | (others), 0, most_rank }),				\
	NN_OUTPUTS({ NN_SAME, 0, most_rank }),						\
	.float16_as_float32 = true, .infer = nn_infer_shape, .execute = execute,			\
	.kernels = &(const struct kernels)__VA_ARGS__)

UNARY(FLOOR, 0, 4, { floor_float, NULL });
UNARY(ABS, NN_T(NN_TENSOR_INT32), 0, { abs_float, abs_int });
UNARY(ERF, 0, 0, { erf_float, NULL });
UNARY(EXP, 0, 0, { exp_float, NULL });
UNARY(GELU, 0, 0, { gelu_float, NULL });
UNARY(LOG, 0, 0, { log_float, NULL });
UNARY(NEG, NN_T(NN_TENSOR_INT32), 0, { neg_float, neg_int });
UNARY(RSQRT, NN_QUANT8, 0, { rsqrt_float, rsqrt_q8 });
UNARY(SIN, 0, 0, { sin_float, NULL });
UNARY(SQRT, 0, 0, { sqrt_float, NULL });
