/* SPDX-License-Identifier: MIT */
/*
 * Tests the functions of which quantised LSTM cells consist, in each set of kernels that this CPU
 * supports. The test compares the kernels' results with functions of ops/quant.h: activation
 * functions for every argument, products and scaling for random numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/quant.h"
#include "plan/kernels/isa.h"
#include "vectors/random.h"
#include "tests/heap_blocks.h"

#define COUNT 65536		/* number of 16-bit values */
#define ROUNDS 300
#define MAX_ROWS 11
#define MAX_DEPTH 100

static int16_t in[COUNT], out[COUNT];

static void check_squash(const struct nn_isa *isa, bool is_tanh, uint32_t bits)
{
	/*
	 * The lengths of `first` and `last` are not multiples of a vector's length, so that the
	 * code for remainders runs.
	 */
	const struct nn_squash_q16 first = { is_tanh, bits, COUNT - 5, in, out };
	const struct nn_squash_q16 last = { is_tanh, bits, 5, in + COUNT - 5, out + COUNT - 5 };

	isa->qlstm.squash(&first);
	isa->qlstm.squash(&last);
	for (size_t i = 0; i < COUNT; i++) {
		int16_t right = is_tanh ? nn_quant_tanh16(in[i], bits) :
					  nn_quant_logistic16(in[i], bits);

		if (out[i] != right)
			fail_msg("%s, %s of %d with %u integer bits: %d, not %d", isa->name,
				 is_tanh ? "tanh" : "logistic", in[i], bits, out[i], right);
	}
}

static void test_functions(void **unused)
{
	const struct nn_isa *isa;

	(void)unused;
	for (int32_t i = 0; i < COUNT; i++)
		in[i] = (int16_t)(i + INT16_MIN);
	for (size_t k = 0; (isa = nn_isa_at(k)); k++) {
		check_squash(isa, false, 3);
		for (uint32_t bits = 0; bits <= 6; bits++)
			check_squash(isa, true, bits);
	}
}

static int64_t saturate(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}

static int32_t any(void)
{
	return (int32_t)((uint32_t)pick(0, 65535) << 16 | (uint32_t)pick(0, 65535)) >>
	       pick(0, 31);
}

/* Returns a random number; the smallest and the largest number are likely. */
static int32_t any_end(void)
{
	return pick(0, 3) ? any() : pick(0, 1) ? INT32_MAX : INT32_MIN;
}

static void check_scale(const struct nn_isa *isa)
{
	int32_t sums[MAX_DEPTH], bias[MAX_DEPTH];
	int16_t values[MAX_DEPTH], before[MAX_DEPTH];
	struct nn_scale_q16 s = {
		.count = (size_t)pick(1, MAX_DEPTH),
		.sums = sums,
		.bias = pick(0, 1) ? bias : NULL,
		.multiplier = pick(0, 7) ? pick(1 << 30, INT32_MAX) : 0,
		.shift = pick(-31, 40),
		.add = pick(0, 1),
		.values = values,
	};

	for (size_t i = 0; i < s.count; i++) {
		sums[i] = any_end();
		bias[i] = any_end();
		values[i] = before[i] = (int16_t)any();
	}
	isa->qlstm.scale(&s);
	for (size_t i = 0; i < s.count; i++) {
		int64_t sum = saturate((int64_t)sums[i] + (s.bias ? bias[i] : 0), INT32_MIN,
				       INT32_MAX);
		int64_t right = saturate(nn_mbqm((int32_t)sum, s.multiplier, s.shift), INT16_MIN,
					 INT16_MAX);

		if (s.add)
			right = saturate(right + before[i], INT16_MIN, INT16_MAX);
		if (values[i] != right)
			fail_msg("%s, %d and %d by %d, %d: %d, not %d", isa->name, sums[i],
				 s.bias ? bias[i] : 0, s.multiplier, s.shift, values[i],
				 (int)right);
	}
}

static void check_dots(const struct nn_isa *isa)
{
	const size_t rows = (size_t)pick(1, MAX_ROWS), depth = (size_t)pick(1, MAX_DEPTH);
	/*
	 * The memory has exactly the size of the weights, so that sanitizers detect a read beyond
	 * the weights.
	 */
	uint8_t *weights = malloc(rows * depth);
	int16_t x[MAX_DEPTH + NN_Q16_PADDING] = { 0 };
	int32_t sums[MAX_ROWS], before[MAX_ROWS];
	struct nn_dots_q16 d = {
		.rows = rows,
		.depth = depth,
		.weights = weights,
		.x = x,
		.add = pick(0, 1),
		.sums = sums,
	};

	assert_non_null(weights);
	for (size_t i = 0; i < rows * depth; i++)
		weights[i] = (uint8_t)pick(0, 255);
	for (size_t i = 0; i < depth; i++)
		x[i] = (int16_t)pick(-255, 255);
	for (size_t i = 0; i < rows; i++)
		sums[i] = before[i] = any_end();
	isa->qlstm.dots(&d);
	for (size_t i = 0; i < rows; i++) {
		uint32_t right = d.add ? (uint32_t)before[i] : 0;

		for (size_t k = 0; k < depth; k++)
			right += (uint32_t)((int8_t)weights[i * depth + k] * x[k]);
		if (sums[i] != (int32_t)right)
			fail_msg("%s, row %zu of %zu of %zu: %d, not %d", isa->name, i, rows,
				 depth, sums[i], (int32_t)right);
	}
	free(weights);
}

static void test_noise(void **unused)
{
	const struct nn_isa *isa;

	(void)unused;
	for (size_t k = 0; (isa = nn_isa_at(k)); k++)
		for (int i = 0; i < ROUNDS; i++) {
			check_scale(isa);
			check_dots(isa);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_functions),
		heap_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
