/* SPDX-License-Identifier: MIT */
/*
 * Tests vectorised float functions, with each set of kernels that this CPU supports. The test
 * compares results for all kinds of numbers with results of the C library in double precision. The
 * test covers sums of 8-bit products near the limits of 16 bits.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/kernels/pack_q8.h"

#define COUNT 4093		/* number of elements; not a multiple of any vector's length */
#define STEP 6007u		/* distance between the bit patterns of two tested floats */

static float in[COUNT], out[COUNT];

/*
 * Fills `in` with the next COUNT tested floats. The tested floats have every magnitude and include
 * infinity and NaN. Returns false after the last tested floats.
 */
static bool next_floats(uint64_t *bits)
{
	for (size_t i = 0; i < COUNT; i++, *bits += STEP) {
		uint32_t word = (uint32_t)*bits;

		memcpy(&in[i], &word, sizeof(word));
	}
	return *bits >> 32 == 0;
}

/*
 * Returns true if a result is near the right number: the difference is at most `units` units in the
 * last place, or at most `distance`.
 */
static bool is_near(float is, double right, double units, double distance)
{
	const float rounded = (float)right;
	const double unit = isnormal(right) ? ldexp(1, ilogb(right) - 23) : 0;

	if (isnan(rounded) || isinf(rounded) || is == rounded)
		return isnan(rounded) ? isnan(is) : is == rounded;
	return fabs((double)is - right) <= fmax(units * unit, distance);
}

static double identity(double x)
{
	return x;
}

static double logistic(double x)
{
	return 1 / (1 + exp(-x));
}

static double root_below(double x)
{
	return 1 / sqrt(x);
}

static double gelu(double x)
{
	return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}

/*
 * The tested vectorised functions, with each function's allowed error. A function may return 0
 * instead of a subnormal result.
 */
static const struct {
	const char *name;
	enum nn_unary function;
	double (*right)(double x);
	double units;
	double distance;
} functions[] = {
	{ "clamp", NN_UNARY_CLAMP, identity, 0, 0 },
	{ "logistic", NN_UNARY_LOGISTIC, logistic, 4, 3e-38 },
	{ "tanh", NN_UNARY_TANH, tanh, 4, 0 },
	{ "exp", NN_UNARY_EXP, exp, 2, 3e-38 },
	{ "abs", NN_UNARY_ABS, fabs, 0, 0 },
	{ "sqrt", NN_UNARY_SQRT, sqrt, 1, 0 },
	{ "rsqrt", NN_UNARY_RSQRT, root_below, 2, 0 },
	{ "log", NN_UNARY_LOG, log, 2, 0 },
	{ "sin", NN_UNARY_SIN, sin, 1, 2e-7 },
	{ "floor", NN_UNARY_FLOOR, floor, 0, 0 },
	{ "erf", NN_UNARY_ERF, erf, 2, 0 },
	{ "gelu", NN_UNARY_GELU, gelu, 3, 1e-6 },
};

static void check_function(const struct nn_isa *isa, size_t f)
{
	const struct nn_unary_f32 u = { .function = functions[f].function, .count = COUNT,
					.in = in, .out = out, .low = -INFINITY, .high = INFINITY };
	uint64_t bits = 0;
	bool more;

	do {
		more = next_floats(&bits);
		isa->unary_f32(&u);
		for (size_t i = 0; i < COUNT; i++)
			if (!is_near(out[i], functions[f].right((double)in[i]), functions[f].units,
				     functions[f].distance))
				fail_msg("%s, %s of %a: %a", isa->name, functions[f].name,
					 (double)in[i], (double)out[i]);
	} while (more);
}

static void test_functions(void **unused)
{
	const struct nn_isa *isa;

	(void)unused;
	for (size_t k = 0; (isa = nn_isa_at(k)); k++)
		for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++)
			check_function(isa, f);
}

/* Returns the expected maximum or minimum of a column, as the reference kernel computes it. */
static float reduced(enum nn_reduction reduction, const float *x, size_t stride, size_t count)
{
	float a = reduction == NN_REDUCE_MAX ? -INFINITY : INFINITY;

	for (size_t i = 0; i < count; i++, x += stride) {
		if (reduction == NN_REDUCE_MAX)
			a = a > *x ? a : *x;
		else
			a = a < *x ? a : *x;
	}
	return a;
}

/* Tests reductions of rows and columns, some of which contain infinity, 0 or NaN. */
static void test_reductions(void **state)
{
	static const float odd[] = { NAN, INFINITY, -INFINITY, 0 };
	const struct nn_isa *isa;

	(void)state;
	for (size_t i = 0; (isa = nn_isa_at(i)); i++) {
		for (size_t round = 0; round < 3000; round++) {
			const struct nn_reduce_f32 r = {
				.reduction = round / 2 % 2 ? NN_REDUCE_MIN : NN_REDUCE_MAX,
				.in = in,
				.count = 1 + round % 83,
				.columns = 1 + (round % 2 ? round % 41 : 0),
				.out = out,
			};

			for (size_t k = 0; k < r.count * r.columns; k++)
				in[k] = (float)(k * 7 % 13) / 4 - 1.6f;
			for (size_t k = 0; k < round % 4; k++)
				in[(round * 31 + k * 17) % (r.count * r.columns)] = odd[(round / 4 + k) % 4];
			isa->reduce_f32(&r);
			for (size_t c = 0; c < r.columns; c++)
				if (!is_near(out[c], (double)reduced(r.reduction, in + c, r.columns,
								     r.count), 50, 0))
					fail_msg("%s, reduction %d, %zu of %zu columns: column %zu",
						 isa->name, r.reduction, r.count, r.columns, c);
		}
	}
}

#define FOURS 40		/* number of groups of four weights in a column */
#define DEPTH (4 * FOURS)
#define COLUMNS 20
#define PRODUCT_ROWS 7

/*
 * Checks a product of input bytes that are all 255 with weights. In each column, `large` groups of
 * four weights contain `first` followed by `second`; all other weights are 0.
 */
static void check_sums(const struct nn_isa *isa, const struct nn_gemm_config *config, int8_t first,
		       int8_t second, size_t large)
{
	static const struct nn_tensor x = { .type = NN_TENSOR_QUANT8_ASYMM };
	static const struct nn_q8_channels channels;
	static int8_t bytes[COLUMNS * DEPTH];
	static uint8_t packed[64 * 1024] __attribute__((aligned(64)));
	static uint8_t a[PRODUCT_ROWS * DEPTH] __attribute__((aligned(64)));
	static int16_t wide[NN_Q8_WIDE_ROWS * (DEPTH + 64)] __attribute__((aligned(64)));
	static int32_t sums[PRODUCT_ROWS * NN_Q8_CHANNELS] __attribute__((aligned(64)));
	const struct nn_tensor weights = { .type = NN_TENSOR_QUANT8_SYMM, .data = bytes };
	const struct nn_pack_q8 pack = { &x, &weights, &channels, COLUMNS, DEPTH };
	const struct nn_gemm_q8 g = {
		.rows = PRODUCT_ROWS, .columns = COLUMNS, .depth = DEPTH, .a = a, .a_stride = DEPTH,
		.wide = wide, .panels = packed, .sums = sums, .sums_stride = NN_Q8_CHANNELS,
		.c = a,
	};

	assert_true(config->size(config, COLUMNS, DEPTH) <= sizeof(packed));
	memset(a, 255, sizeof(a));
	memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < COLUMNS; i++)
		for (size_t k = 0; k < large; k++) {
			bytes[i * DEPTH + 4 * (FOURS - 1 - k) + k % 2 * 2] = first;
			bytes[i * DEPTH + 4 * (FOURS - 1 - k) + k % 2 * 2 + 1] = second;
		}
	config->pack(config, &pack, packed);
	config->run(&g);
	for (size_t i = 0; i < PRODUCT_ROWS * COLUMNS; i++) {
		const int32_t sum = sums[i / COLUMNS * NN_Q8_CHANNELS + i % COLUMNS];

		if (sum != (int32_t)large * 255 * (first + second))
			fail_msg("%s, %zu times 255 * (%d + %d): row %zu, column %zu is %d", isa->name,
				 large, first, second, i / COLUMNS, i % COLUMNS, sum);
	}
}

static void test_sums(void **state)
{
	static const int8_t pairs[][2] = {
		{ 64, 64 }, { 64, 65 }, { 2, 127 }, { 127, 127 }, { 127, -128 }, { -128, -128 },
		{ -64, -64 }, { -64, -65 }, { -128, -1 }, { -1, -1 },
	};
	const struct nn_isa *isa;

	(void)state;
	for (size_t i = 0; (isa = nn_isa_at(i)); i++)
		for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
			for (size_t large = 0; large <= FOURS; large++) {
				check_sums(isa, &isa->gemm_q8, pairs[k][0], pairs[k][1], large);
				if (isa->gemm_sums.run)
					check_sums(isa, &isa->gemm_sums, pairs[k][0], pairs[k][1],
						   large);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests_name("plan_math", tests, NULL, NULL);
}
