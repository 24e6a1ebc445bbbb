// SPDX-License-Identifier: MIT
/* Functions of one number. Functions that the NNAPI lacks are composed of arithmetic operations. */
#include "clients/lower/lowerings.h"
#include "clients/lower/reader.h"

#include <math.h>

#include <nnaccel/operation.h>

/* Rejects float16, which is too coarse for intermediate results. */
static void is_fine(struct lowering *t, uint32_t x)
{
	if (is_type(t, x, NN(TENSOR_FLOAT16)))
		refuse(t, "float16 is too coarse for the intermediate results");
}

uint32_t bounded(struct lowering *t, uint32_t x, float low, float high)
{
	if (!isinf(low))
		x = with_number(t, NN(MAXIMUM), x, low);
	return isinf(high) ? x : with_number(t, NN(MINIMUM), x, high);
}

uint32_t elu_of(struct lowering *t, uint32_t x, float alpha)
{
	return EMIT(t, NN(ELU), result_like(t, x), x, scalar_float(t, x, alpha));
}

/*
 * erf(x) = 1 - (a1 k + ... + a5 k^5) exp(-x^2), k = 1 / (1 + p x), x >= 0. The error of this
 * approximation of erf is at most 1.5e-7. The source of erf is formula 7.1.26 of Abramowitz and
 * Stegun, Handbook of Mathematical Functions.
 */
static uint32_t erf_of_magnitude(struct lowering *t, uint32_t x)
{
	static const float a[] = { 1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f,
				   0.254829592f };
	uint32_t k, sum, e;

	is_fine(t, x);
	k = with_number(t, NN(ADD), with_number(t, NN(MUL), x, 0.3275911f), 1);
	k = number_with(t, NN(DIV), 1, k);
	sum = with_number(t, NN(MUL), k, a[0]);
	for (int i = 1; i < 5; i++)
		sum = arithmetic(t, NN(MUL), with_number(t, NN(ADD), sum, a[i]), k);
	e = unary(t, NN(EXP), unary(t, NN(NEG), arithmetic(t, NN(MUL), x, x)));
	return number_with(t, NN(SUB), 1, arithmetic(t, NN(MUL), sum, e));
}

uint32_t erf_of(struct lowering *t, uint32_t x)
{
	uint32_t e;

	is_fine(t, x);
	if (has_own(t))
		return unary(t, NN_OP_ERF, x);
	e = erf_of_magnitude(t, unary(t, NN(ABS), x));
	return selected(t, compared_number(t, NN(LESS), x, 0), unary(t, NN(NEG), e), e);
}

/* Computes gelu by x erf(x / sqrt 2) = |x| erf(|x| / sqrt 2), which does not need the sign of x. */
uint32_t gelu_of(struct lowering *t, uint32_t x, bool by_tanh)
{
	uint32_t half, inner;

	is_fine(t, x);
	if (!by_tanh && has_own(t))
		return unary(t, NN_OP_GELU, x);
	half = with_number(t, NN(MUL), x, 0.5f);
	if (by_tanh) {
		inner = arithmetic(t, NN(MUL), arithmetic(t, NN(MUL), x, x), x);
		inner = arithmetic(t, NN(ADD), x, with_number(t, NN(MUL), inner, 0.044715f));
		inner = unary(t, NN(TANH), with_number(t, NN(MUL), inner, 0.7978845608f));
		return arithmetic(t, NN(MUL), half, with_number(t, NN(ADD), inner, 1));
	}
	inner = unary(t, NN(ABS), x);
	inner = arithmetic(t, NN(MUL), inner, erf_of_magnitude(
		t, with_number(t, NN(MUL), inner, 0.70710678118f)));
	return arithmetic(t, NN(ADD), half, with_number(t, NN(MUL), inner, 0.5f));
}

/* cos(x) = 1 - 2 sin(x/2)^2 is exact to a few ulp of 1; sin(x + pi/2) is inexact for large x. */
uint32_t cos_of(struct lowering *t, uint32_t x)
{
	uint32_t sine = unary(t, NN(SIN), with_number(t, NN(MUL), x, 0.5f));

	is_fine(t, x);
	return number_with(t, NN(SUB), 1,
			   with_number(t, NN(MUL), arithmetic(t, NN(MUL), sine, sine), 2));
}

/*
 * atan(x) = x (1 + a1 x^2 + ... + a8 x^16) up to 1, pi / 2 - atan(1 / x) beyond. The error of this
 * approximation of arctan is at most 2e-8. The source of atan is formula 4.4.49 of Abramowitz and
 * Stegun, Handbook of Mathematical Functions.
 */
uint32_t atan_of(struct lowering *t, uint32_t x)
{
	static const float a[] = { 0.0028662257f, -0.0161657367f, 0.0429096138f, -0.0752896400f,
				   0.1065626393f, -0.1420889944f, 0.1999355085f, -0.3333314528f };
	uint32_t size = unary(t, NN(ABS), x), small, square, sum;

	is_fine(t, x);
	small = arithmetic(t, NN(MINIMUM), size, number_with(t, NN(DIV), 1, size));
	square = arithmetic(t, NN(MUL), small, small);
	sum = with_number(t, NN(MUL), square, a[0]);
	for (int i = 1; i < 8; i++)
		sum = arithmetic(t, NN(MUL), with_number(t, NN(ADD), sum, a[i]), square);
	sum = arithmetic(t, NN(MUL), with_number(t, NN(ADD), sum, 1), small);
	sum = selected(t, compared_number(t, NN(GREATER), size, 1),
		       number_with(t, NN(SUB), (float)M_PI_2, sum), sum);
	return selected(t, compared_number(t, NN(LESS), x, 0), unary(t, NN(NEG), sum), sum);
}

/* asin(x) = atan(x / sqrt(1 - x^2)); the quotient may be infinite. */
uint32_t asin_of(struct lowering *t, uint32_t x)
{
	uint32_t rest = arithmetic(t, NN(MUL), number_with(t, NN(SUB), 1, x),
				   with_number(t, NN(ADD), x, 1));

	return atan_of(t, arithmetic(t, NN(DIV), x, unary(t, NN(SQRT), rest)));
}

/* acosh(x) = log(x + sqrt(x - 1) sqrt(x + 1)); the square of x would overflow. */
static uint32_t acosh_of(struct lowering *t, uint32_t x)
{
	uint32_t below = unary(t, NN(SQRT), with_number(t, NN(SUB), x, 1));
	uint32_t above = unary(t, NN(SQRT), with_number(t, NN(ADD), x, 1));

	return unary(t, NN(LOG), arithmetic(t, NN(ADD), x, arithmetic(t, NN(MUL), below, above)));
}

/*
 * asinh(x) = log(x + sqrt(x^2 + 1)), x >= 0. With m = max(x, 1), sqrt(x^2 + 1) = m sqrt((x/m)^2 +
 * (1/m)^2), which does not overflow.
 */
static uint32_t asinh_of(struct lowering *t, uint32_t x)
{
	uint32_t size = unary(t, NN(ABS), x), most = with_number(t, NN(MAXIMUM), size, 1);
	uint32_t one = number_with(t, NN(DIV), 1, most), part = arithmetic(t, NN(DIV), size, most), y;

	y = arithmetic(t, NN(ADD), arithmetic(t, NN(MUL), part, part), arithmetic(t, NN(MUL), one, one));
	y = arithmetic(t, NN(MUL), most, unary(t, NN(SQRT), y));
	y = unary(t, NN(LOG), arithmetic(t, NN(ADD), size, y));
	return selected(t, compared_number(t, NN(LESS), x, 0), unary(t, NN(NEG), y), y);
}

/*
 * Rounds to the nearest whole number, ties to even. The difference between x and floor(x) is exact.
 */
uint32_t round_of(struct lowering *t, uint32_t x)
{
	uint32_t low = unary(t, NN(FLOOR), x), high = with_number(t, NN(ADD), low, 1);
	uint32_t rest = arithmetic(t, NN(SUB), x, low), half = with_number(t, NN(MUL), low, 0.5f);
	uint32_t even = compared(t, NN(EQUAL), half, unary(t, NN(FLOOR), half));

	even = selected(t, even, low, high);
	return selected(t, compared_number(t, NN(LESS), rest, 0.5f), low,
			selected(t, compared_number(t, NN(EQUAL), rest, 0.5f), even, high));
}

/* Returns 1 if x > 0, -1 if x < 0, and 0 otherwise. */
uint32_t sign_of(struct lowering *t, uint32_t x)
{
	uint32_t above = compared_number(t, NN(GREATER), x, 0);
	uint32_t below = compared_number(t, NN(LESS), x, 0);

	below = selected(t, below, filled_like(t, x, -1), filled_like(t, x, 0));
	return selected(t, above, filled_like(t, x, 1), below);
}

/* Computes max(x, 0) + log(1 + exp(-|x|)), which does not overflow. */
uint32_t softplus_of(struct lowering *t, uint32_t x)
{
	uint32_t small = unary(t, NN(EXP), unary(t, NN(NEG), unary(t, NN(ABS), x)));

	return arithmetic(t, NN(ADD), unary(t, NN(RELU), x),
			  unary(t, NN(LOG), with_number(t, NN(ADD), small, 1)));
}

void function_op(struct lowering *t)
{
	set_out(t, 0, t->function(t, number_in(t, 0)), shape_in(t, 0));
}

#define FUNCTION(onnx, first, last, tflite, y) ONNX_FUNCTION(onnx, first, last, y)
#define ONNX_FUNCTION(onnx, first, last, y) \
	uint32_t function_##onnx(struct lowering *t, uint32_t x) \
	{ \
		return y; \
	}
#define TFLITE_FUNCTION(tflite, y) ONNX_FUNCTION(tflite, 0, 0, y)
#include "clients/lower/functions.def"
