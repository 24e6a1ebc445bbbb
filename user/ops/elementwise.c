/* SPDX-License-Identifier: MIT */
/* ADD, SUB, MUL and DIV: arithmetic with broadcasting and a fused activation. */
#include "ops/broadcast.h"
#include "ops/check.h"
#include "ops/q8.h"
#include "ops/quant.h"

enum { A, B, ACTIVATION };

/* MUL requires that the output's scale is above the product of the inputs' scales. */
static enum nn_status check_mul(const struct nn_check *c)
{
	const struct nn_operand *a = nn_check_in(c, A), *b = nn_check_in(c, B);
	const struct nn_operand *out = nn_check_out(c, 0);

	if (NN_T(a->type) & NN_QUANT8 && !(out->scale > a->scale * b->scale))
		return nn_check_fail_output(c, 0, "scale %g, must be above the product of those of the inputs",
					    (double)out->scale);
	return NN_OK;
}

/* ---- Float ---- */

struct range {
	float low;
	float high;
};

static inline float clamp(float value, const struct range *p)
{
	value = value < p->low ? p->low : value;
	return value > p->high ? p->high : value;
}

NN_ROW_FN(add_float, float, float, struct range, clamp(x + y, p))
NN_ROW_FN(sub_float, float, float, struct range, clamp(x - y, p))
NN_ROW_FN(mul_float, float, float, struct range, clamp(x * y, p))
NN_ROW_FN(div_float, float, float, struct range, clamp(x / y, p))

static enum nn_status execute_float(struct nn_run *r, nn_row_fn *fn)
{
	struct range range;

	if (!nn_fused_range_float(nn_run_int(r, ACTIVATION, 0), &range.low, &range.high))
		return nn_run_fail(r, "input 2: activation %d does not exist",
				   nn_run_int(r, ACTIVATION, 0));
	nn_broadcast(r, fn, &range);
	return NN_OK;
}

/* ---- TENSOR_INT32: modulo 2^32 ---- */

/* Divides integers, rounded towards minus infinity; the result of a division by 0 is 0. */
static inline int32_t floor_divide(int32_t x, int32_t y)
{
	int64_t quotient, wide = x;

	if (y == 0)
		return 0;
	quotient = wide / y;
	return (int32_t)(uint32_t)(quotient - (quotient * y != wide && (x < 0) != (y < 0)));
}

NN_ROW_FN(add_int, uint32_t, uint32_t, void, x + y)
NN_ROW_FN(sub_int, uint32_t, uint32_t, void, x - y)
NN_ROW_FN(mul_int, uint32_t, uint32_t, void, x * y)
NN_ROW_FN(div_int, int32_t, int32_t, void, floor_divide(x, y))

static enum nn_status execute_int(struct nn_run *r, nn_row_fn *fn)
{
	if (nn_run_int(r, ACTIVATION, 0) != 0)
		return nn_run_fail(r, "input 2: the activation must be 0 for TENSOR_INT32");
	nn_broadcast(r, fn, NULL);
	return NN_OK;
}

/* ---- Quantised ---- */

/* Parameters of the quantised kernels of ADD, SUB and MUL. */
struct quantised {
	/* terms_a[x]: the summand for the stored value x of operand a */
	int32_t terms_a[256];
	int32_t terms_b[256];
	/* quantisations of the operands of a product */
	struct nn_q8 a;
	struct nn_q8 b;
	struct nn_multiplier out;
	int32_t zero;
	int32_t low;
	int32_t high;
};

static inline uint8_t quantised_output(const struct quantised *p, int32_t value)
{
	int64_t stored = (int64_t)nn_quant_scale(value, &p->out) + p->zero;

	return (uint8_t)(stored < p->low ? p->low : stored > p->high ? p->high : stored);
}

/*
 * The sum of two summands cannot overflow, because the summands in terms_a and terms_b are at most
 * 255 * 2^20 / 2.
 */
NN_ROW_FN(sum_q8, uint8_t, uint8_t, struct quantised,
	  quantised_output(p, p->terms_a[x] + p->terms_b[y]))
NN_ROW_FN(mul_q8, uint8_t, uint8_t, struct quantised,
	  quantised_output(p, nn_q8_value(p->a, x) * nn_q8_value(p->b, y)))

static void fill_terms(int32_t *terms, const struct nn_tensor *t, const struct nn_multiplier *m)
{
	struct nn_q8 q = nn_q8_of(t);

	for (uint32_t byte = 0; byte < 256; byte++)
		terms[byte] = nn_quant_scale(nn_q8_value(q, (uint8_t)byte) * (1 << 20), m);
}

/*
 * Fills the tables terms_a and terms_b for a quantised ADD or SUB. The common scale of the summands
 * is twice the larger scale of the operands, with 20 additional bits.
 */
static bool prepare_sum(const struct nn_run *r, struct quantised *p)
{
	double scale_a = (double)r->inputs[A].scale, scale_b = (double)r->inputs[B].scale;
	double common = 2 * (scale_a > scale_b ? scale_a : scale_b);
	struct nn_multiplier a, b;

	if (!nn_quant_encode_below_one(scale_a / common, &a) ||
	    !nn_quant_encode_below_one(scale_b / common, &b) ||
	    !nn_quant_encode_below_one(common / (0x1p20 * (double)r->outputs[0].scale), &p->out))
		return false;
	if (r->op->code == NN_OP_SUB)
		b.value = -b.value;
	fill_terms(p->terms_a, &r->inputs[A], &a);
	fill_terms(p->terms_b, &r->inputs[B], &b);
	return true;
}

static bool prepare_product(const struct nn_run *r, struct quantised *p)
{
	double scale = (double)(r->inputs[A].scale * r->inputs[B].scale);

	p->a = nn_q8_of(&r->inputs[A]);
	p->b = nn_q8_of(&r->inputs[B]);
	return nn_quant_encode_below_one(scale / (double)r->outputs[0].scale, &p->out);
}

static enum nn_status execute_q8(struct nn_run *r, nn_row_fn *fn)
{
	const struct nn_tensor *out = &r->outputs[0];
	struct quantised p = { .zero = out->zero_point };
	int32_t activation = nn_run_int(r, ACTIVATION, 0);

	if (!nn_fused_range(activation, out->type, out->scale, out->zero_point, &p.low, &p.high))
		return nn_run_fail(r, "input 2: activation %d does not exist", activation);
	if (!(fn == mul_q8 ? prepare_product(r, &p) : prepare_sum(r, &p)))
		return nn_run_fail(r, "the output's scale %g is too small for inputs of %g and %g",
				   (double)out->scale, (double)r->inputs[A].scale,
				   (double)r->inputs[B].scale);
	nn_broadcast(r, fn, &p);
	return NN_OK;
}

/* ---- The operations ---- */

struct kernels {
	nn_row_fn *on_float;
	nn_row_fn *on_int;
	nn_row_fn *on_q8;
};

static enum nn_status execute(struct nn_run *r)
{
	const struct kernels *k = r->op->kernels;

	switch (r->inputs[A].type) {
	case NN_TENSOR_FLOAT32:
		return execute_float(r, k->on_float);
	case NN_TENSOR_INT32:
		return execute_int(r, k->on_int);
	default:
		return execute_q8(r, k->on_q8);
	}
}

#define ARITHMETIC(which, types, ...)							\
NN_OPERATION(which,									\
	NN_INPUTS(3, { types, 0, 4 }, { NN_SAME, 0, 4 }, NN_SCALAR_INT),		\
	NN_OUTPUTS({ NN_SAME, 0, 4 }),							\
	.zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,			\
	.infer = nn_broadcast_infer, .execute = execute,				\
	.kernels = &(const struct kernels)__VA_ARGS__)

#define ALL (NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32))
ARITHMETIC(ADD, ALL, { add_float, add_int, sum_q8 });
ARITHMETIC(SUB, ALL, { sub_float, sub_int, sum_q8 });
ARITHMETIC(MUL, ALL, { mul_float, mul_int, mul_q8 }, .check = check_mul);
ARITHMETIC(DIV, NN_FLOATS | NN_T(NN_TENSOR_INT32), { div_float, div_int, NULL });
