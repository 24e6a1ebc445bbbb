/* SPDX-License-Identifier: MIT */
/*
 * RELU, RELU1, RELU6, LOGISTIC, TANH, ELU and HARD_SWISH. For 8-bit tensors, LOGISTIC, TANH and
 * HARD_SWISH look up results in a table of 256 values, which is computed in fixed point.
 */
#include <math.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "ops/traits.h"

/* ---- Shapes ---- */

struct quantised;

struct kernels {
	void (*on_float)(const struct nn_run *r);
	int32_t (*on_q8)(int32_t x, const struct quantised *p);
	float scale;			/* fixed scale of a quantised output */
	/* fixed zero point of a uint8 output; the zero point of an int8 output is 128 less */
	int32_t zero;
};

/* Infers the output of LOGISTIC or TANH, whose fixed quantisation covers [0, 1) or [-1, 1). */
static enum nn_status infer_sigmoid(struct nn_run *r)
{
	const struct kernels *k = r->op->kernels;
	struct nn_tensor *out = &r->outputs[0];

	nn_tensor_like(out, &r->inputs[0]);
	if (out->type == NN_TENSOR_FLOAT32)
		return NN_OK;
	out->scale = k->scale;
	out->zero_point = k->zero - (out->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
	return NN_OK;
}

/* ---- Loops ---- */

/*
 * Defines a loop over float elements. `expression` computes an output element from the input
 * element x and the parameter alpha.
 */
#define FLOATS(name, expression)							\
static void name(const struct nn_run *r)						\
{											\
	const float *in = r->inputs[0].data;						\
	float *out = r->outputs[0].data;						\
	size_t count = nn_tensor_count(&r->outputs[0]);					\
	const float alpha __attribute__((unused)) = nn_run_float(r, 1, 0);		\
											\
	for (size_t i = 0; i < count; i++) {						\
		const float x = in[i];							\
											\
		out[i] = expression;							\
	}										\
}

FLOATS(logistic_float, 1 / (1 + expf(-x)))
FLOATS(tanh_float, tanhf(x))
FLOATS(elu_float, fmaxf(0, x) + fminf(0, alpha * (expf(x) - 1)))
FLOATS(hard_swish_float, x * fminf(6, fmaxf(0, x + 3)) / 6)

/*
 * Parameters of the function on_q8() of a quantised operation. The argument x of on_q8() is an
 * input element minus the zero point.
 */
struct quantised {
	struct nn_multiplier in;	/* multiplier of the input for LOGISTIC and TANH */
	int32_t radius;
	struct nn_multiplier relu;	/* 16-bit multiplier for HARD_SWISH */
	struct nn_multiplier out;
};

/*
 * Applies the function `fn` to all elements of a quantised tensor. The result of `fn` is an output
 * element minus the output's zero point.
 */
static void map_q8(const struct nn_run *r, int32_t (*fn)(int32_t x, const struct quantised *p),
		   const struct quantised *p)
{
	struct nn_q8 from = nn_q8_of(&r->inputs[0]), to = nn_q8_of(&r->outputs[0]);
	const uint8_t *in = r->inputs[0].data;
	uint8_t *out = r->outputs[0].data, table[256];
	size_t count = nn_tensor_count(&r->outputs[0]);

	for (uint32_t byte = 0; byte < 256; byte++)
		table[byte] = nn_q8_stored(to, fn(nn_q8_value(from, (uint8_t)byte), p));
	for (size_t i = 0; i < count; i++)
		out[i] = table[in[i]];
}

/* ---- RELU, RELU1, RELU6 ---- */

static void clamp_float(const struct nn_run *r, int32_t activation)
{
	const float *restrict in = r->inputs[0].data;
	float *restrict out = r->outputs[0].data, low, high;
	size_t count = nn_tensor_count(&r->outputs[0]);

	nn_fused_range_float(activation, &low, &high);
	for (size_t i = 0; i < count; i++) {
		float x = in[i] < low ? low : in[i];

		out[i] = x > high ? high : x;
	}
}

/*
 * Clamps stored values. The loop compares unsigned bytes, so the sign bits of int8 values are
 * flipped: flipped bytes have the order of the real values.
 */
static void clamp_q8(const struct nn_run *r, int32_t activation)
{
	const struct nn_tensor *t = &r->inputs[0];
	const uint8_t *in = t->data, flip = nn_q8_of(t).flip;
	uint8_t *out = r->outputs[0].data;
	size_t count = nn_tensor_count(t);
	int32_t low, high;

	nn_fused_range(activation, t->type, t->scale, t->zero_point, &low, &high);
	low += flip;
	high += flip;
	for (size_t i = 0; i < count; i++) {
		int32_t x = in[i] ^ flip;

		out[i] = (uint8_t)(x < low ? low : x > high ? high : x) ^ flip;
	}
}

static enum nn_status execute_clamp(struct nn_run *r)
{
	const int32_t activation = nn_traits(r->op->code)->fused_code;

	if (r->inputs[0].type == NN_TENSOR_FLOAT32)
		clamp_float(r, activation);
	else
		clamp_q8(r, activation);
	return NN_OK;
}

/* ---- LOGISTIC and TANH ---- */

/*
 * Returns the input as a fixed-point number with four integer bits. The absolute value of x must be
 * at most p->radius, because a larger value would overflow.
 */
static int32_t fixed_input(int32_t x, const struct quantised *p)
{
	return nn_srdhm((int32_t)((uint32_t)x << p->in.shift), p->in.value);
}

static int32_t logistic_q8(int32_t x, const struct quantised *p)
{
	int32_t result;

	if (x <= -p->radius)
		return 0;
	if (x >= p->radius)
		return 255;
	result = nn_rdp(nn_quant_logistic(fixed_input(x, p), 4), 23);
	return result > 255 ? 255 : result;
}

static int32_t tanh_q8(int32_t x, const struct quantised *p)
{
	if (x <= -p->radius)
		return -128;
	if (x >= p->radius)
		return 127;
	return nn_rdp(nn_quant_tanh(fixed_input(x, p), 4), 24);
}

static enum nn_status execute_sigmoid(struct nn_run *r)
{
	const struct kernels *k = r->op->kernels;
	const struct nn_tensor *in = &r->inputs[0];
	struct quantised p = { 0 };

	if (in->type == NN_TENSOR_FLOAT32) {
		k->on_float(r);
		return NN_OK;
	}
	if (!nn_quant_encode_above_one((double)in->scale * 0x1p27, &p.in))
		return nn_run_fail(r, "input 0: scale %g is too small", (double)in->scale);
	p.radius = nn_quant_radius(4, p.in.shift);
	/*
	 * If p.radius is 0, the scale is so large that every input except 0 is saturated. The
	 * result for 0 does not depend on the multiplier.
	 */
	if (p.radius == 0)
		p = (struct quantised){ .radius = 1 };
	map_q8(r, k->on_q8, &p);
	return NN_OK;
}

/* ---- ELU ---- */

static enum nn_status execute_elu(struct nn_run *r)
{
	elu_float(r);
	return NN_OK;
}

/* ---- HARD_SWISH ---- */

/* Computes x * 2^bits, saturated to 16 bits. */
static int16_t shift_left16(int16_t x, int32_t bits)
{
	return nn_saturate16(x * (INT64_C(1) << (bits < 16 ? bits : 16)));
}

/* Returns the truncated high half of twice the product a * b. */
static int16_t multiply_high16(int16_t a, int16_t b)
{
	if (a == INT16_MIN && b == INT16_MIN)
		return INT16_MAX;
	return (int16_t)(a * b / (1 << 15));
}

/*
 * Computes (x + 3) / 6, clamped to [0, 1], with 15 fraction bits. The argument x is an input
 * element shifted left by 7 bits.
 */
static int16_t hard_sigmoid16(int16_t x, const struct nn_multiplier *m)
{
	if (m->shift > 0)
		x = shift_left16(x, m->shift - 1);
	x = nn_srdhm16(x, (int16_t)m->value);
	if (m->shift > 0)
		x = shift_left16(x, 1);
	if (m->shift < 0)
		x = (int16_t)nn_rdp(x, -m->shift);
	return (int16_t)((x + 32768) >> 1);
}

static int32_t hard_swish_q8(int32_t x, const struct quantised *p)
{
	int16_t fine = (int16_t)(x * 128), scaled = nn_srdhm16(fine, (int16_t)p->out.value);

	return nn_rdp(multiply_high16(hard_sigmoid16(fine, &p->relu), scaled), -p->out.shift);
}

static bool encode16(double factor, struct nn_multiplier *m)
{
	int64_t rounded;

	if (!nn_quant_encode(factor, m))
		return false;
	rounded = ((int64_t)m->value + (1 << 15)) >> 16;
	m->value = rounded > INT16_MAX ? INT16_MAX : (int32_t)rounded;
	return true;
}

static enum nn_status execute_hard_swish(struct nn_run *r)
{
	double fine = (double)r->inputs[0].scale / 128, out_scale = (double)r->outputs[0].scale;
	struct quantised p = { 0 };

	if (r->inputs[0].type == NN_TENSOR_FLOAT32) {
		hard_swish_float(r);
		return NN_OK;
	}
	if (!encode16(fine / out_scale, &p.out) || p.out.shift > 0 ||
	    !encode16(fine * 32768 / 3, &p.relu))
		return nn_run_fail(r, "the output's scale %g is too small for an input of %g",
				   out_scale, (double)r->inputs[0].scale);
	map_q8(r, hard_swish_q8, &p);
	return NN_OK;
}

/* ---- The operations ---- */

#define ACTIVATION(which, most_rank, ...)						\
NN_OPERATION(which,									\
	NN_INPUTS(1, { NN_FLOATS | NN_QUANT8, 0, most_rank }),				\
	NN_OUTPUTS({ NN_SAME, 0, most_rank }),						\
	.zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true, __VA_ARGS__)

ACTIVATION(RELU, 4, .infer = nn_infer_like, .execute = execute_clamp);
ACTIVATION(RELU1, 4, .infer = nn_infer_like, .execute = execute_clamp);
ACTIVATION(RELU6, 4, .infer = nn_infer_like, .execute = execute_clamp);
ACTIVATION(LOGISTIC, 4, .infer = infer_sigmoid, .execute = execute_sigmoid,
	   .kernels = &(const struct kernels){ logistic_float, logistic_q8, 1.0f / 256, 0 });
ACTIVATION(TANH, 4, .infer = infer_sigmoid, .execute = execute_sigmoid,
	   .kernels = &(const struct kernels){ tanh_float, tanh_q8, 1.0f / 128, 128 });
ACTIVATION(HARD_SWISH, 0, .infer = nn_infer_shape, .execute = execute_hard_swish);

NN_OPERATION(ELU,
	NN_INPUTS(2, { NN_FLOATS, 0, 0 }, NN_SCALAR_FLOAT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,
	.infer = nn_infer_like, .execute = execute_elu);
