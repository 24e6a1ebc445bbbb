// SPDX-License-Identifier: MIT
/* Activations: those that the NNAPI has, and those that are made of arithmetic. */
#include "ops.h"

#include <math.h>
#include <stdlib.h>

static void set(struct lowering *t, uint32_t x)
{
	set_out(t, 0, x, shape_in(t, 0));
}

/*
 * An activation between two 8-bit tensors: of one scale it is an operation, and of two it is what
 * ADD does to its result, with a zero to be added.
 */
static bool quantised_activation(struct lowering *t, int32_t type, int32_t fused)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t x, zero;
	struct operand one;
	int8_t *byte;

	if (!quantised_node(t, 1, false))
		return false;
	x = quantised_in(t, 0);
	if (same_quantisation(t, 0)) {
		set_quantised_out(t, unary(t, type, x), shape);
		return true;
	}
	if (t->refused || !fits_quantised(t, NN(ADD), x, x) ||
	    !(byte = builder_alloc(t->b, 1)))
		return false;
	one = *operand_of(t, x);
	one.rank = 1;
	one.dims[0] = 1;
	*byte = (int8_t)one.zero;
	zero = constant_bytes(t, &one, byte);
	set_quantised_out(t, EMIT(t, NN(ADD), quantised_result(t, operand_of(t, x)->rank,
							       operand_of(t, x)->dims),
				  x, zero, scalar_int(t, fused)), shape);
	return true;
}

void relu_op(struct lowering *t)
{
	uint32_t x;

	if (quantised_activation(t, NN(RELU), NN(FUSED_RELU)))
		return;
	x = in(t, 0);
	if (operand_of(t, x)->type == NN(TENSOR_INT32))
		x = with_number(t, NN(MAXIMUM), x, 0);
	else
		x = unary(t, NN(RELU), x);
	set(t, x);
}

/* A bound that is there as a constant, infinite where there is none. */
static bool bound(struct lowering *t, uint32_t index, const char *name, float otherwise,
		  float *value)
{
	int type = type_in(t, index);
	const int32_t *whole = NULL;
	float *real = NULL;

	*value = attr_float(t, name, otherwise);
	if (!has_in(t, index))
		return true;
	if (constant_count(t, index) != 1)
		return false;
	if (type == ONNX_FLOAT || type == ONNX_FLOAT16)
		real = floats_of_count(t, index, 1);
	else if (type == ONNX_INT32)
		whole = data_of_count(t, index, type, 1);
	if (real)
		*value = *real;
	else if (whole && *whole > -(1 << 24) && *whole < 1 << 24)
		*value = (float)*whole;
	else
		return false;
	return true;
}

void clip_op(struct lowering *t)
{
	uint32_t x = in(t, 0);
	float low, high;

	if (!bound(t, 1, "min", -INFINITY, &low) || !bound(t, 2, "max", INFINITY, &high)) {
		/* Bounds that are computed are tensors of one element. */
		if (has_in(t, 1))
			x = arithmetic(t, NN(MAXIMUM), x, in(t, 1));
		if (has_in(t, 2))
			x = arithmetic(t, NN(MINIMUM), x, in(t, 2));
		set(t, x);
		return;
	}
	if (low == 0 && isinf(high) && quantised_activation(t, NN(RELU), NN(FUSED_RELU)))
		return;
	if (low == 0 && high == 6 && quantised_activation(t, NN(RELU6), NN(FUSED_RELU6)))
		return;
	if (is_float(t, x) && low == 0 && high == 6) {
		x = unary(t, NN(RELU6), x);
	} else if (is_float(t, x) && low == -1 && high == 1) {
		x = unary(t, NN(RELU1), x);
	} else if (is_float(t, x) && low == 0 && isinf(high)) {
		x = unary(t, NN(RELU), x);
	} else {
		/* A lowest bound above the highest yields the highest. */
		if (!isinf(low))
			x = with_number(t, NN(MAXIMUM), x, low);
		if (!isinf(high))
			x = with_number(t, NN(MINIMUM), x, high);
	}
	set(t, x);
}

void leaky_relu_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0);

	set(t, arithmetic(t, NN(PRELU), x, number(t, x, attr_float(t, "alpha", 0.01f))));
}

/* The slope is broadcast to the input only. */
void prelu_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *slope = shape_in(t, 1);
	uint32_t x = float_in(t, 0);

	if (slope->rank > shape->rank)
		refuse(t, "a slope of more dimensions");
	set(t, broadcast(t, NN(PRELU), x, shape, in(t, 1), slope, shape));
}

static uint32_t elu(struct lowering *t, uint32_t x, float alpha)
{
	return EMIT(t, NN(ELU), result_like(t, x), x,
		    scalar_float(t, x, alpha));
}

void elu_op(struct lowering *t)
{
	set(t, elu(t, float_in(t, 0), attr_float(t, "alpha", 1)));
}

void selu_op(struct lowering *t)
{
	float alpha = attr_float(t, "alpha", 1.67326319217681884765625f);
	float gamma = attr_float(t, "gamma", 1.05070102214813232421875f);

	set(t, with_number(t, NN(MUL), elu(t, float_in(t, 0), alpha), gamma));
}

/* alpha * elu(x / alpha) */
void celu_op(struct lowering *t)
{
	float alpha = attr_float(t, "alpha", 1);

	if (alpha <= 0)
		refuse(t, "alpha %g", alpha);
	set(t, with_number(t, NN(MUL),
			   elu(t, with_number(t, NN(DIV), float_in(t, 0), alpha), 1), alpha));
}

void thresholded_relu_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0), rank = operand_of(t, x)->rank, dims[MAX_DIMS], above, zero;

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = operand_of(t, x)->dims[i];
	above = EMIT(t, NN(GREATER), result_type(t, NN(TENSOR_BOOL8), rank, dims), x,
		     number(t, x, attr_float(t, "alpha", 1)));
	zero = filled(t, x, rank, dims, 0);
	set(t, EMIT(t, NN(SELECT), result(t, x, rank, dims), above, x, zero));
}

static uint32_t hard_sigmoid(struct lowering *t, uint32_t x, float alpha, float beta)
{
	x = with_number(t, NN(ADD), with_number(t, NN(MUL), x, alpha), beta);
	return with_number(t, NN(MINIMUM), with_number(t, NN(MAXIMUM), x, 0), 1);
}

void hard_sigmoid_op(struct lowering *t)
{
	set(t, hard_sigmoid(t, float_in(t, 0), attr_float(t, "alpha", 0.2f),
			    attr_float(t, "beta", 0.5f)));
}

void hard_swish_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t x;

	if (quantised_node(t, 1, false)) {
		x = quantised_in(t, 0);
		/* The operation takes no result that is finer than an input by 128. */
		if (operand_of(t, x)->scale / 128 < onnx(t)->values[onnx(t)->quantised_out].scale) {
			set_quantised_out(t, EMIT(t, NN(HARD_SWISH),
						  quantised_result(t, operand_of(t, x)->rank,
								   operand_of(t, x)->dims), x),
					  shape);
			return;
		}
	}
	set(t, unary(t, NN(HARD_SWISH), float_in(t, 0)));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which does not overflow. */
static uint32_t softplus(struct lowering *t, uint32_t x)
{
	uint32_t small = unary(t, NN(EXP), unary(t, NN(NEG), unary(t, NN(ABS), x)));

	return arithmetic(t, NN(ADD), unary(t, NN(RELU), x),
			  unary(t, NN(LOG), with_number(t, NN(ADD), small, 1)));
}

void softplus_op(struct lowering *t)
{
	set(t, softplus(t, float_in(t, 0)));
}

void softsign_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0);

	set(t, arithmetic(t, NN(DIV), x, with_number(t, NN(ADD), unary(t, NN(ABS), x), 1)));
}

void mish_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0);

	set(t, arithmetic(t, NN(MUL), x, unary(t, NN(TANH), softplus(t, x))));
}

void swish_op(struct lowering *t)
{
	float alpha = attr_float(t, "alpha", 1);
	uint32_t x = float_in(t, 0);
	uint32_t inner = alpha == 1 ? x : with_number(t, NN(MUL), x, alpha);

	set(t, arithmetic(t, NN(MUL), x, unary(t, NN(LOGISTIC), inner)));
}

/*
 * erf(x) = 1 - (a1 k + ... + a5 k^5) exp(-x^2), k = 1 / (1 + p x), x >= 0, with an error of
 * 1.5e-7: formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions.
 */
uint32_t erf_of_magnitude(struct lowering *t, uint32_t x)
{
	static const float a[] = { 1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f,
				   0.254829592f };
	uint32_t k, sum, one = number(t, x, 1), e;

	k = with_number(t, NN(ADD), with_number(t, NN(MUL), x, 0.3275911f), 1);
	k = EMIT(t, NN(DIV), result_like(t, k), one, k,
		 scalar_int(t, NN(FUSED_NONE)));
	sum = with_number(t, NN(MUL), k, a[0]);
	for (int i = 1; i < 5; i++)
		sum = arithmetic(t, NN(MUL), with_number(t, NN(ADD), sum, a[i]), k);
	e = unary(t, NN(EXP), unary(t, NN(NEG), arithmetic(t, NN(MUL), x, x)));
	sum = arithmetic(t, NN(MUL), sum, e);
	return EMIT(t, NN(SUB), result_like(t, sum),
		    one, sum, scalar_int(t, NN(FUSED_NONE)));
}

void erf_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0), e, negative, rank = operand_of(t, x)->rank;
	uint32_t dims[MAX_DIMS];

	if (operand_of(t, x)->type == NN(TENSOR_FLOAT16))
		refuse(t, "of float16, which is too coarse for its parts");
	for (uint32_t i = 0; i < rank; i++)
		dims[i] = operand_of(t, x)->dims[i];
	e = erf_of_magnitude(t, unary(t, NN(ABS), x));
	negative = EMIT(t, NN(LESS), result_type(t, NN(TENSOR_BOOL8), rank, dims), x,
			number(t, x, 0));
	set(t, EMIT(t, NN(SELECT), result(t, x, rank, dims), negative, unary(t, NN(NEG), e), e));
}

/* x erf(x / sqrt 2) = |x| erf(|x| / sqrt 2): no sign is needed. */
void gelu_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0), inner, half;
	const char *kind = attr_string(t, "approximate", "none");

	if (operand_of(t, x)->type == NN(TENSOR_FLOAT16))
		refuse(t, "of float16, which is too coarse for its parts");
	half = with_number(t, NN(MUL), x, 0.5f);
	if (kind[0] == 't') {
		inner = arithmetic(t, NN(MUL), arithmetic(t, NN(MUL), x, x), x);
		inner = arithmetic(t, NN(ADD), x, with_number(t, NN(MUL), inner, 0.044715f));
		inner = unary(t, NN(TANH), with_number(t, NN(MUL), inner, 0.7978845608f));
		set(t, arithmetic(t, NN(MUL), half, with_number(t, NN(ADD), inner, 1)));
		return;
	}
	inner = unary(t, NN(ABS), x);
	inner = arithmetic(t, NN(MUL), inner, erf_of_magnitude(
		t, with_number(t, NN(MUL), inner, 0.70710678118f)));
	set(t, arithmetic(t, NN(ADD), half, with_number(t, NN(MUL), inner, 0.5f)));
}

void reciprocal_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0);

	set(t, EMIT(t, NN(DIV), result_like(t, x),
		    number(t, x, 1), x, scalar_int(t, NN(FUSED_NONE))));
}

void ceil_op(struct lowering *t)
{
	set(t, unary(t, NN(NEG), unary(t, NN(FLOOR), unary(t, NN(NEG), float_in(t, 0)))));
}

/* 1 where x > 0, -1 where x < 0, 0 elsewhere. */
void sign_op(struct lowering *t)
{
	uint32_t x = in(t, 0), rank = operand_of(t, x)->rank, dims[MAX_DIMS], above, below, other;

	if (is_quant8(t, x))
		refuse(t, "of %s", onnx_name(type_in(t, 0)));
	for (uint32_t i = 0; i < rank; i++)
		dims[i] = operand_of(t, x)->dims[i];
	above = EMIT(t, NN(GREATER), result_type(t, NN(TENSOR_BOOL8), rank, dims), x,
		     number(t, x, 0));
	below = EMIT(t, NN(LESS), result_type(t, NN(TENSOR_BOOL8), rank, dims), x,
		     number(t, x, 0));
	other = EMIT(t, NN(SELECT), result(t, x, rank, dims), below,
		     filled(t, x, rank, dims, -1), filled(t, x, rank, dims, 0));
	set(t, EMIT(t, NN(SELECT), result(t, x, rank, dims), above, filled(t, x, rank, dims, 1),
		    other));
}
