/* SPDX-License-Identifier: MIT */
#include "ops/quant.h"

#include <math.h>

bool nn_quant_encode(double d, struct nn_multiplier *m)
{
	double mantissa;
	int64_t value;
	int shift;

	*m = (struct nn_multiplier){ 0, 0 };
	if (!(d >= 0) || isinf(d))
		return false;
	mantissa = frexp(d, &shift);
	value = llround(mantissa * 0x1p31);
	if (value == INT64_C(1) << 31) {
		value /= 2;
		shift++;
	}
	if (shift < -31) {
		value = 0;
		shift = 0;
	}
	*m = (struct nn_multiplier){ (int32_t)value, shift };
	return true;
}

bool nn_quant_encode_below_one(double d, struct nn_multiplier *m)
{
	return nn_quant_encode(d, m) && d > 0 && d < 1 && m->shift <= 0;
}

bool nn_quant_encode_above_one(double d, struct nn_multiplier *m)
{
	return nn_quant_encode(d, m) && d > 1 && m->shift >= 0;
}

int32_t nn_srdhm(int32_t a, int32_t b)
{
	int64_t product = (int64_t)a * b;

	if (a == INT32_MIN && b == INT32_MIN)
		return INT32_MAX;
	return (int32_t)((product + (product >= 0 ? 1 << 30 : 1 - (1 << 30))) / (INT64_C(1) << 31));
}

int16_t nn_srdhm16(int16_t a, int16_t b)
{
	int32_t product = a * b;

	if (a == INT16_MIN && b == INT16_MIN)
		return INT16_MAX;
	return (int16_t)((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

int32_t nn_mbqm(int32_t x, int32_t value, int32_t shift)
{
	uint32_t left = shift > 0 ? (uint32_t)shift : 0;
	uint32_t shifted = left < 32 ? (uint32_t)x << left : 0;

	return nn_rdp(nn_srdhm((int32_t)shifted, value), shift < 0 ? -shift : 0);
}

int32_t nn_quant_radius(int32_t integer_bits, int32_t shift)
{
	double most = (double)((INT64_C(1) << integer_bits) - 1) *
		      (double)(INT64_C(1) << (31 - integer_bits)) / ldexp(1, shift);

	return (int32_t)floor(most);
}

/* ---- Fixed point of 16 or 32 bits: a raw number, its width, its integer bits ---- */

static int32_t multiply(int bits, int32_t a, int32_t b)
{
	return bits == 32 ? nn_srdhm(a, b) : nn_srdhm16((int16_t)a, (int16_t)b);
}

/* Converts a 32-bit fixed-point constant to a fixed-point number of `bits` bits (32 or 16). */
static int32_t constant(int bits, int32_t raw)
{
	return bits == 32 ? raw : nn_rdp(raw, 16);
}

static int32_t largest(int bits)
{
	return bits == 32 ? INT32_MAX : INT16_MAX;
}

/* Reduces a sum or difference to `bits` bits; an overflow wraps around. */
static int32_t wrap(int bits, int64_t v)
{
	return bits == 32 ? (int32_t)(uint32_t)v : (int16_t)(uint16_t)v;
}

static int32_t add(int bits, int32_t a, int32_t b)
{
	return wrap(bits, (int64_t)a + b);
}

static int32_t subtract(int bits, int32_t a, int32_t b)
{
	return wrap(bits, (int64_t)a - b);
}

/* Computes x * 2^exponent: a left shift saturates, and a right shift rounds. */
static int32_t shift_bits(int bits, int32_t x, int32_t exponent)
{
	int64_t most = largest(bits), shifted;

	if (exponent <= 0)
		return nn_rdp(x, -exponent);
	shifted = (int64_t)x * (INT64_C(1) << exponent);
	return (int32_t)(shifted > most ? most : shifted < -most - 1 ? -most - 1 : shifted);
}

/*
 * Computes exp(a) for a in [-1/4, 0) by a Taylor series around -1/8. The argument and the result
 * have no integer bits.
 */
static int32_t exp_quarter(int bits, int32_t a)
{
	int32_t term = constant(bits, 1895147668);	/* exp(-1/8) */
	int32_t third = constant(bits, 715827883);
	int32_t x = add(bits, a, 1 << (bits - 4));
	int32_t x2 = multiply(bits, x, x), x3 = multiply(bits, x2, x);
	int32_t x4 = multiply(bits, x2, x2), tail;

	tail = multiply(bits, add(bits, nn_rdp(x4, 2), x3), third);
	tail = nn_rdp(add(bits, tail, x2), 1);
	tail = multiply(bits, term, add(bits, x, tail));
	return bits == 16 ? nn_saturate16(term + tail) : add(bits, term, tail);
}

static int32_t exp_negative(int bits, int32_t a, int32_t integer_bits)
{
	/* powers[i] is exp(-2^(i - 2)) */
	static const int32_t powers[] = { 1672461947, 1302514674, 790015084, 290630308, 39332535,
					  720401, 242 };
	int32_t fraction = bits - 1 - integer_bits;
	int32_t quarter = 1 << (fraction - 2);
	int32_t mod = (a & (quarter - 1)) - quarter, rest = subtract(bits, mod, a);
	int32_t result = exp_quarter(bits, shift_bits(bits, mod, integer_bits));

	if (a == 0)
		return largest(bits);
	for (int32_t e = -2; e <= 4 && e < integer_bits; e++) {
		if (rest & 1 << (fraction + e))
			result = multiply(bits, result, constant(bits, powers[e + 2]));
	}
	if (integer_bits > 5 && (int64_t)a < -(INT64_C(32) << fraction))
		return 0;
	return result;
}

/* Computes 1 / ((1 + a) / 2), as a number with two integer bits, by Newton's iteration. */
static int32_t reciprocal(int bits, int32_t a)
{
	int64_t sum = (int64_t)a + largest(bits);
	int32_t half = (int32_t)((sum + (sum >= 0 ? 1 : -1)) / 2), one = 1 << (bits - 3);
	int32_t x = add(bits, constant(bits, 1515870810),
			multiply(bits, half, constant(bits, -1010580540)));

	for (int i = 0; i < 3; i++) {
		int32_t error = subtract(bits, one, multiply(bits, half, x));

		x = add(bits, x, shift_bits(bits, multiply(bits, x, error), 2));
	}
	return x;
}

static int32_t one_over_one_plus(int bits, int32_t a)
{
	return shift_bits(bits, reciprocal(bits, a), 1);
}

static int32_t logistic(int bits, int32_t a, int32_t integer_bits)
{
	int32_t result;

	if (a == 0)
		return 1 << (bits - 2);
	result = one_over_one_plus(bits, exp_negative(bits, a > 0 ? -a : a, integer_bits));
	return a > 0 ? result : largest(bits) - result;
}

static int32_t hyperbolic_tangent(int bits, int32_t a, int32_t integer_bits)
{
	int32_t e, t;

	if (a == 0)
		return 0;
	e = exp_negative(bits, a > 0 ? -a : a, integer_bits + 1);
	t = shift_bits(bits, subtract(bits, reciprocal(bits, e), 1 << (bits - 3)), 2);
	return a > 0 ? t : wrap(bits, -(int64_t)t);
}

int32_t nn_quant_exp_negative(int32_t a, uint32_t integer_bits)
{
	return exp_negative(32, a, (int32_t)integer_bits);
}

int32_t nn_quant_logistic(int32_t a, uint32_t integer_bits)
{
	return logistic(32, a, (int32_t)integer_bits);
}

int32_t nn_quant_tanh(int32_t a, uint32_t integer_bits)
{
	return hyperbolic_tangent(32, a, (int32_t)integer_bits);
}

int16_t nn_quant_logistic16(int16_t a, uint32_t integer_bits)
{
	return (int16_t)logistic(16, a, (int32_t)integer_bits);
}

int16_t nn_quant_tanh16(int16_t a, uint32_t integer_bits)
{
	return (int16_t)hyperbolic_tangent(16, a, (int32_t)integer_bits);
}

int32_t nn_quant_one_over_one_plus(int32_t a)
{
	return one_over_one_plus(32, a);
}

void nn_quant_inverse_sqrt(int32_t v, int32_t *value, int32_t *shift)
{
	int32_t exponent = 11, pairs, half, x = 1 << 28;

	if (v <= 1) {
		*value = INT32_MAX;
		*shift = 0;
		return;
	}
	for (; v >= 1 << 29; v /= 4)
		exponent++;
	pairs = (__builtin_clz((uint32_t)v) - 1) / 2 - 1;
	exponent -= pairs;
	v <<= 2 * pairs;
	half = nn_rdp(v >> 1, 1);
	for (int i = 0; i < 5; i++) {
		int32_t cube = nn_srdhm(nn_srdhm(x, x), x);
		int32_t next = subtract(32, nn_srdhm((1 << 28) + (1 << 27), x),
					nn_srdhm(half, shift_bits(32, cube, 6)));

		x = shift_bits(32, next, 3);
	}
	x = nn_srdhm(x, 1518500250);		/* sqrt(1/2) */
	if (exponent < 0) {
		x = (int32_t)((uint32_t)x << -exponent);
		exponent = 0;
	}
	*value = x;
	*shift = -exponent;
}

void nn_quant_range(int32_t type, int32_t *low, int32_t *high)
{
	bool is_unsigned = type == NN_TENSOR_QUANT8_ASYMM;

	*low = is_unsigned ? 0 : INT8_MIN;
	*high = is_unsigned ? UINT8_MAX : INT8_MAX;
}

int32_t nn_quantize(float real, float scale, int32_t zero_point, int32_t low, int32_t high)
{
	float stored = roundf(real / scale) + (float)zero_point;

	if (isnan(stored))
		return low;
	return (int32_t)fminf(fmaxf(stored, (float)low), (float)high);
}

void nn_requantize_table(const struct nn_tensor *from, const struct nn_tensor *to,
			 uint8_t table[256])
{
	int32_t first, last, low, high;

	nn_quant_range(from->type, &first, &last);
	nn_quant_range(to->type, &low, &high);
	for (int32_t q = first; q <= last; q++) {
		double real = (double)(q - from->zero_point) * (double)from->scale;
		double stored = real / (double)to->scale + to->zero_point;

		table[(uint8_t)q] = (uint8_t)(int32_t)round(fmin(fmax(stored, low), high));
	}
}

bool nn_fused_range_float(int32_t activation, float *low, float *high)
{
	static const float ranges[][2] = {
		{ -INFINITY, INFINITY }, { 0, INFINITY }, { -1, 1 }, { 0, 6 },
	};

	if (activation < 0 || activation > 3)
		return false;
	*low = ranges[activation][0];
	*high = ranges[activation][1];
	return true;
}

bool nn_fused_range(int32_t activation, int32_t type, float scale, int32_t zero_point,
		    int32_t *low, int32_t *high)
{
	int32_t least, most;
	float from, to;

	if (!nn_fused_range_float(activation, &from, &to))
		return false;
	nn_quant_range(type, &least, &most);
	*low = from == -INFINITY ? least : nn_quantize(from, scale, zero_point, least, most);
	*high = to == INFINITY ? most : nn_quantize(to, scale, zero_point, least, most);
	return true;
}
