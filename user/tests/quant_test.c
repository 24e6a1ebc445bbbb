/* SPDX-License-Identifier: MIT */
/*
 * Tests fixed-point arithmetic: known values of each primitive, and functions compared with the
 * mathematics library for all or many inputs.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops/quant.h"
#include "tests/between.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static void test_srdhm(void **state)
{
	static const struct {
		int32_t a, b, result;
	} table[] = {
		{ 0, 5, 0 },
		{ INT32_MIN, INT32_MIN, INT32_MAX },
		{ INT32_MIN, INT32_MAX, -INT32_MAX },
		{ INT32_MAX, INT32_MAX, INT32_MAX - 1 },
		{ 1 << 30, 1, 1 },		/* the exact product 0.5 is rounded up */
		{ 1 << 30, -1, 0 },
		{ 1 << 30, 3, 2 },
		{ 1 << 30, -3, -1 },
		{ 1 << 30, 1 << 30, 1 << 29 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_int_equal(nn_srdhm(table[i].a, table[i].b), table[i].result);
	assert_int_equal(nn_srdhm16(INT16_MIN, INT16_MIN), INT16_MAX);
	assert_int_equal(nn_srdhm16(1 << 14, 1), 1);
	assert_int_equal(nn_srdhm16(1 << 14, -1), 0);
	assert_int_equal(nn_srdhm16(INT16_MIN, INT16_MAX), -INT16_MAX);
}

static void test_rdp(void **state)
{
	static const struct {
		int32_t x, exponent, result;
	} table[] = {
		{ 7, 0, 7 },	     { 3, 1, 2 },	{ -3, 1, -2 },	   { 5, 2, 1 },
		{ 6, 2, 2 },	     { -5, 2, -1 },	{ -6, 2, -2 },	   { INT32_MAX, 31, 1 },
		{ INT32_MIN, 31, -1 }, { INT32_MIN, 1, -(1 << 30) }, { (1 << 30) - 1, 31, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_int_equal(nn_rdp(table[i].x, table[i].exponent), table[i].result);
}

static void test_encode(void **state)
{
	static const double bad[] = { -1, -1e-300, NAN, INFINITY };
	struct nn_multiplier m;

	(void)state;
	for (double d = 0x1p-30; d < 0x1p30; d *= 1.37) {
		assert_true(nn_quant_encode(d, &m));
		assert_between(m.value, 1 << 30, INT32_MAX);
		assert_true(fabs(ldexp(m.value, m.shift - 31) / d - 1) <= 0x1p-31);
	}
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_false(nn_quant_encode(bad[i], &m));
	assert_true(nn_quant_encode(0, &m) && m.value == 0 && m.shift == 0);
	assert_true(nn_quant_encode(1e-30, &m) && m.value == 0 && m.shift == 0);
	/* 2^-32 is the smallest factor that is not encoded as 0. */
	assert_true(nn_quant_encode(0x1p-32, &m) && m.value == 1 << 30 && m.shift == -31);
	assert_true(nn_quant_encode(0x1.fffffp-33, &m) && m.value == 0 && m.shift == 0);
	assert_true(nn_quant_encode(0x1p-32 - 0x1p-80, &m) && m.value == 1 << 30 && m.shift == -31);
	/* nn_quant_encode() rounds a factor just below 1 up to 1. */
	assert_true(nn_quant_encode(1 - 0x1p-40, &m) && m.value == 1 << 30 && m.shift == 1);
	assert_true(nn_quant_encode_below_one(0.5, &m));
	assert_false(nn_quant_encode_below_one(1, &m));
	assert_false(nn_quant_encode_below_one(0, &m));
	assert_false(nn_quant_encode_below_one(1 - 0x1p-40, &m));
	assert_true(nn_quant_encode_above_one(1.5, &m));
	assert_false(nn_quant_encode_above_one(1, &m));
}

/* Compares nn_quant_scale() of many numbers and factors with the exact products. */
static void test_scale(void **state)
{
	static const double factors[] = { 1e-9, 1.0 / 3, 0.5, 0.999999, 1, 1.5, 77.7 };
	struct nn_multiplier m;

	(void)state;
	for (size_t i = 0; i < LENGTH(factors); i++) {
		assert_true(nn_quant_encode(factors[i], &m));
		/* The tested numbers are so small that no product wraps around. */
		for (int64_t x = -10000000; x <= 10000000; x += 7919)
			assert_true(fabs(nn_quant_scale((int32_t)x, &m) - (double)x * factors[i]) <= 1);
	}
}

static double fixed(int32_t raw, int bits, uint32_t integer_bits)
{
	return ldexp(raw, (int)integer_bits - (bits - 1));
}

static double logistic(double x)
{
	return 1 / (1 + exp(-x));
}

/* Tries logistic and tanh of all 16-bit inputs; the allowed errors are in steps of the result. */
static void test_functions_of_16_bits(void **state)
{
	(void)state;
	for (uint32_t integer_bits = 0; integer_bits <= 6; integer_bits++) {
		for (int32_t x = INT16_MIN; x <= INT16_MAX; x++) {
			double real = fixed(x, 16, integer_bits);
			double sigmoid = nn_quant_logistic16((int16_t)x, integer_bits);
			double tangent = nn_quant_tanh16((int16_t)x, integer_bits);

			assert_true(fabs(sigmoid - logistic(real) * 0x1p15) <= 7);
			assert_true(fabs(tangent - tanh(real) * 0x1p15) <= 13);
		}
	}
}

/*
 * Tries functions of 32-bit numbers at distances of 65,535, from the smallest to the largest
 * number. The allowed error of each tested function is an absolute difference.
 */
static void test_functions_of_32_bits(void **state)
{
	(void)state;
	for (uint32_t integer_bits = 1; integer_bits <= 6; integer_bits++) {
		for (int64_t i = INT32_MIN; i <= INT32_MAX; i += i < INT32_MAX - 0xffff ? 0xffff : 1) {
			int32_t x = (int32_t)i;
			double real = fixed(x, 32, integer_bits);

			if (x <= 0)
				assert_true(fabs(fixed(nn_quant_exp_negative(x, integer_bits), 32, 0) -
						 exp(real)) <= 3e-7);
			if (x == INT32_MIN)
				continue;
			assert_true(fabs(fixed(nn_quant_logistic(x, integer_bits), 32, 0) -
					 logistic(real)) <= 3e-7);
			assert_true(fabs(fixed(nn_quant_tanh(x, integer_bits), 32, 0) -
					 tanh(real)) <= 3e-7);
		}
	}
}

static void test_one_over_one_plus(void **state)
{
	(void)state;
	for (int64_t x = 0; x <= INT32_MAX; x += 99991)
		assert_true(fabs(fixed(nn_quant_one_over_one_plus((int32_t)x), 32, 0) -
				 1 / (1 + fixed((int32_t)x, 32, 0))) <= 3e-7);
}

static void test_inverse_sqrt(void **state)
{
	int32_t value, shift;

	(void)state;
	nn_quant_inverse_sqrt(0, &value, &shift);
	assert_true(value == INT32_MAX && shift == 0);
	for (int64_t x = 2; x <= INT32_MAX; x = x * 9 / 8 + 1) {
		nn_quant_inverse_sqrt((int32_t)x, &value, &shift);
		assert_true(fabs(ldexp(value, shift - 31) * sqrt((double)x) - 1) <= 2e-6);
	}
}

/*
 * The 32-bit functions return the same bits as gemmlowp's; the expected numbers are from another
 * program that follows gemmlowp's definitions. The first inputs of the exponential are -0.25 minus
 * each power of two that has a factor of its own.
 */
static void test_bits_of_functions(void **state)
{
	static const struct {
		int32_t x, exponential, logistic, tangent;
	} functions[] = {
		{ -33554432, 1302515042, 940218953, -525958532 },
		{ -50331648, 1014399735, 874741817, -769566392 },
		{ -83886080, 615264540, 748709727, -1190993620 },
		{ -150994944, 226343175, 526316057, -1737960716 },
		{ -285212672, 30632218, 229116305, -2087080812 },
		{ -553648128, 561049, 34158719, -2146361844 },
		{ -1090519040, 188, 635561, -2147483264 },
		{ -1, 2147483124, 1073741699, -260 },
		{ -12345678, 1786631188, 1024393897, -196975628 },
		{ -100780964, 478328835, 688548227, -1365094684 },
		{ -144272510, 250190872, 546469535, -1699315392 },
		{ -909925048, 2776, 2438649, -2147478092 },
	};
	static const struct {
		int32_t x, value, shift;
	} roots[] = {
		{ 2, 1518498372, 0 },
		{ 3, 1239850284, 0 },
		{ 10, 679093938, 0 },
		{ 255, 268961290, -1 },
		{ 65535, 268437511, -5 },
		{ 3145729, 309962520, -8 },
		{ 536870911, 189812531, -11 },
		{ 536870912, 379624593, -12 },
		{ 2147483647, 189812531, -12 },
		{ 12345678, 312926508, -9 },
		{ 450874520, 207124745, -11 },
	};
	int32_t value, shift;

	(void)state;
	for (size_t i = 0; i < LENGTH(functions); i++) {
		const int32_t x = functions[i].x;

		assert_int_equal(nn_quant_exp_negative(x, 5), functions[i].exponential);
		assert_int_equal(nn_quant_logistic(x, 4), functions[i].logistic);
		assert_int_equal(nn_quant_logistic(-x, 4), INT32_MAX - functions[i].logistic);
		assert_int_equal(nn_quant_tanh(x, 4), functions[i].tangent);
		assert_int_equal(nn_quant_tanh(-x, 4), -functions[i].tangent);
	}
	for (size_t i = 0; i < LENGTH(roots); i++) {
		nn_quant_inverse_sqrt(roots[i].x, &value, &shift);
		assert_int_equal(value, roots[i].value);
		assert_int_equal(shift, roots[i].shift);
	}
	assert_int_equal(nn_quant_one_over_one_plus(0), INT32_MAX);
	assert_int_equal(nn_quant_one_over_one_plus(12345678), 2135208542);
	assert_int_equal(nn_quant_one_over_one_plus(987654321), 1470967488);
	assert_int_equal(nn_quant_one_over_one_plus(INT32_MAX), 1073741820);
}

static void test_radius(void **state)
{
	(void)state;
	assert_int_equal(nn_quant_radius(4, 27), 15);
	assert_int_equal(nn_quant_radius(5, 26), 31);
	assert_int_equal(nn_quant_radius(5, 40), 0);
}

static void test_quantize(void **state)
{
	static const struct {
		float real;
		int32_t low, high, stored;
	} table[] = {
		{ 0, 0, 255, 10 },    { 0.25f, 0, 255, 11 }, { -0.25f, 0, 255, 9 },
		{ 0.24f, 0, 255, 10 }, { 1e30f, 0, 255, 255 }, { -1e30f, 0, 255, 0 },
		{ INFINITY, -128, 127, 127 }, { -INFINITY, -128, 127, -128 }, { NAN, 0, 255, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_int_equal(nn_quantize(table[i].real, 0.5f, 10, table[i].low, table[i].high),
				 table[i].stored);
}

static void test_requantize(void **state)
{
	struct nn_tensor from = { .type = NN_TENSOR_QUANT8_ASYMM_SIGNED, .scale = 0.3f, .zero_point = -7 };
	struct nn_tensor to = { .type = NN_TENSOR_QUANT8_ASYMM, .scale = 0.2f, .zero_point = 40 };
	uint8_t table[256];

	(void)state;
	nn_requantize_table(&from, &to, table);
	for (int32_t q = -128; q <= 127; q++) {
		double want = fmin(fmax((q + 7) * (double)0.3f / (double)0.2f + 40, 0), 255);

		assert_int_equal(table[(uint8_t)q], (int32_t)round(want));
	}
}

static void test_fused_ranges(void **state)
{
	static const struct {
		int32_t activation, type, zero_point, low, high;
	} table[] = {
		{ 0, NN_TENSOR_QUANT8_ASYMM, 100, 0, 255 },
		{ 1, NN_TENSOR_QUANT8_ASYMM, 100, 100, 255 },
		{ 2, NN_TENSOR_QUANT8_ASYMM, 100, 90, 110 },
		{ 3, NN_TENSOR_QUANT8_ASYMM, 100, 100, 160 },
		{ 3, NN_TENSOR_QUANT8_ASYMM, 250, 250, 255 },
		{ 0, NN_TENSOR_QUANT8_ASYMM_SIGNED, 0, -128, 127 },
		{ 1, NN_TENSOR_QUANT8_ASYMM_SIGNED, -128, -128, 127 },
		{ 2, NN_TENSOR_QUANT8_ASYMM_SIGNED, -125, -128, -115 },
	};
	float from, to;
	int32_t low, high;

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		assert_true(nn_fused_range(table[i].activation, table[i].type, 0.1f,
					   table[i].zero_point, &low, &high));
		assert_int_equal(low, table[i].low);
		assert_int_equal(high, table[i].high);
	}
	assert_false(nn_fused_range(4, NN_TENSOR_QUANT8_ASYMM, 1, 0, &low, &high));
	assert_false(nn_fused_range_float(-1, &from, &to));
	assert_true(nn_fused_range_float(3, &from, &to));
	assert_true(from == 0 && to == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_srdhm),
		cmocka_unit_test(test_rdp),
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_functions_of_16_bits),
		cmocka_unit_test(test_functions_of_32_bits),
		cmocka_unit_test(test_one_over_one_plus),
		cmocka_unit_test(test_inverse_sqrt),
		cmocka_unit_test(test_bits_of_functions),
		cmocka_unit_test(test_radius),
		cmocka_unit_test(test_quantize),
		cmocka_unit_test(test_requantize),
		cmocka_unit_test(test_fused_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
