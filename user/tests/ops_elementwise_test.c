/* SPDX-License-Identifier: MIT */
/*
 * Tests arithmetic, comparisons, logic, functions of one element, SELECT, CAST, FILL and RANK:
 * signatures, broadcasting and results. Results are compared with the operations' definitions.
 */
#include <limits.h>
#include <math.h>

#include "op_case.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* ---- Signatures ---- */

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "ADD", "f4 f1 I > f4", true },
		{ "ADD", "h2 h2 I > h2", true },
		{ "ADD", "u0 u3 I > u3", true },
		{ "ADD", "s1 s1 I > s0", true },
		{ "ADD", "w1 w1 I > w1", true },
		{ "ADD", "f1 f1 > f1", false },
		{ "ADD", "f1 f1 I I > f1", false },
		{ "ADD", "f1 f1 F > f1", false },
		{ "ADD", "f1 f1 I > f1 f1", false },
		{ "ADD", "f1 f1 I >", false },
		{ "ADD", "f1 h1 I > f1", false },
		{ "ADD", "f1 f1 I > h1", false },
		{ "ADD", "f5 f1 I > f4", false },
		{ "ADD", "f1 f5 I > f4", false },
		{ "ADD", "f1 f1 I > f5", false },
		{ "ADD", "t1 t1 I > t1", false },
		{ "SUB", "u1 u1 I > u1", true },
		{ "SUB", "w1 w1 I > w1", true },
		{ "SUB", "a1 a1 I > a1", false },
		{ "MUL", "f1 f1 I > f1", true },
		{ "MUL", "w1 w1 I > w1", true },
		{ "MUL", "t1 t1 I > t1", false },
		{ "DIV", "f1 f1 I > f1", true },
		{ "DIV", "w1 w1 I > w1", true },
		{ "DIV", "u1 u1 I > u1", false },
		{ "DIV", "s1 s1 I > s1", false },
		{ "MAXIMUM", "f9 f1 > f9", true },
		{ "MAXIMUM", "s1 s1 > s1", true },
		{ "MAXIMUM", "t1 t1 > t1", false },
		{ "MAXIMUM", "f1 w1 > f1", false },
		{ "MINIMUM", "w1 w1 > w1", true },
		{ "MINIMUM", "u1 u1 > u1", true },
		{ "MINIMUM", "u1 u1 > s1", false },
		{ "POW", "h1 h1 > h1", true },
		{ "POW", "f1 w1 > f1", false },
		{ "POW", "w1 w1 > w1", false },
		{ "PRELU", "f1 f1 > f1", true },
		{ "PRELU", "s1 s1 > s1", true },
		{ "PRELU", "w1 w1 > w1", false },
		{ "PRELU", "u1 s1 > u1", false },
		{ "EQUAL", "t1 t1 > t1", true },
		{ "EQUAL", "w1 w1 > t1", true },
		{ "EQUAL", "w1 f1 > t1", false },
		{ "EQUAL", "f1 f1 > f1", false },
		{ "NOT_EQUAL", "s1 s1 > t1", true },
		{ "GREATER", "h1 h1 > t1", true },
		{ "GREATER_EQUAL", "u1 u1 > t1", true },
		{ "LESS", "a1 a1 > t1", false },
		{ "LESS_EQUAL", "f1 f1 f1 > t1", false },
		{ "LOGICAL_AND", "t1 t1 > t1", true },
		{ "LOGICAL_AND", "t1 w1 > t1", false },
		{ "LOGICAL_OR", "t1 t1 > t1", true },
		{ "LOGICAL_OR", "w1 w1 > t1", false },
		{ "LOGICAL_NOT", "t1 > t1", true },
		{ "LOGICAL_NOT", "t1 > w1", false },
		{ "FLOOR", "f4 > f4", true },
		{ "FLOOR", "f5 > f5", false },
		{ "FLOOR", "w1 > w1", false },
		{ "ABS", "w1 > w1", true },
		{ "ABS", "f7 > f7", true },
		{ "ABS", "u1 > u1", false },
		{ "NEG", "w1 > w1", true },
		{ "NEG", "h1 > f1", false },
		{ "ERF", "h1 > h1", true },
		{ "GELU", "f1 > f1", true },
		{ "GELU", "w1 > w1", false },
		{ "EXP", "h1 > h1", true },
		{ "EXP", "w1 > w1", false },
		{ "LOG", "f1 > f1", true },
		{ "RSQRT", "f1 > f1", true },
		{ "RSQRT", "u3 > u3", true },
		{ "RSQRT", "s1 > s1", true },
		{ "RSQRT", "u1 > s1", false },
		{ "RSQRT", "w1 > w1", false },
		{ "SQRT", "u1 > u1", false },
		{ "SIN", "f1 > f1", true },
		{ "SQRT", "f1 > f1", true },
		{ "SQRT", "f1 f1 > f1", false },
		{ "SELECT", "t1 f1 f1 > f1", true },
		{ "SELECT", "t1 w1 w1 > w1", true },
		{ "SELECT", "t1 s1 s1 > s1", true },
		{ "SELECT", "w1 f1 f1 > f1", false },
		{ "SELECT", "t1 f1 h1 > f1", false },
		{ "SELECT", "t1 f1 f1 > h1", false },
		{ "SELECT", "t1 t1 t1 > t1", false },
		{ "CAST", "f1 > u1", true },
		{ "CAST", "w1 > h1", true },
		{ "CAST", "t1 > t1", true },
		{ "CAST", "a1 > a1", true },
		{ "CAST", "y1 > y1", true },
		{ "CAST", "s1 > s1", true },
		{ "CAST", "s1 > f1", false },
		{ "CAST", "f1 > s1", false },
		{ "CAST", "t1 > w1", false },
		{ "FILL", "w1 F > f4", true },
		{ "FILL", "w1 H > h4", true },
		{ "FILL", "w1 I > w4", true },
		{ "FILL", "w1 F > h4", false },
		{ "FILL", "w1 I > f4", false },
		{ "FILL", "w2 F > f4", false },
		{ "FILL", "f1 F > f4", false },
		{ "FILL", "w1 B > t4", false },
		{ "RANK", "a1 > I", true },
		{ "RANK", "t0 > I", true },
		{ "RANK", "f1 > w1", false },
		{ "RANK", "I > I", false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		oc_assert_signature(&table[i]);
}

/* MUL refuses an output scale that is not larger than the product of the inputs' scales. */
static void test_mul_scale(void **state)
{
	static const int32_t types[] = { NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED };

	(void)state;
	for (size_t i = 0; i < LENGTH(types); i++) {
		struct op_case c;

		oc_init(&c, "MUL");
		oc_input(&c, types[i], OC_DIMS(1), NULL)->scale = 0.5f;
		oc_input(&c, types[i], OC_DIMS(1), NULL)->scale = 0.5f;
		oc_int(&c, 0);
		oc_output(&c, types[i])->scale = 0.25f;
		assert_int_equal(oc_check(&c), NN_INVALID_ARGUMENT);
		c.operands[3].scale = 0.26f;
		memset(&c.err, 0, sizeof(c.err));
		assert_int_equal(oc_check(&c), NN_OK);
		oc_free(&c);
	}
}

/* ---- Broadcasting ---- */

struct shapes {
	uint32_t rank_a, a[4], rank_b, b[4], rank, out[4];
};

static const struct shapes broadcasts[] = {
	{ 1, { 7 }, 1, { 7 }, 1, { 7 } },
	{ 1, { 1 }, 1, { 1 }, 1, { 1 } },
	{ 1, { 7 }, 1, { 1 }, 1, { 7 } },
	{ 1, { 1 }, 1, { 7 }, 1, { 7 } },
	{ 4, { 2, 3, 4, 5 }, 4, { 2, 3, 4, 5 }, 4, { 2, 3, 4, 5 } },
	{ 4, { 2, 3, 4, 5 }, 1, { 5 }, 4, { 2, 3, 4, 5 } },
	{ 2, { 4, 1 }, 4, { 2, 3, 4, 5 }, 4, { 2, 3, 4, 5 } },
	{ 4, { 2, 1, 4, 1 }, 3, { 3, 1, 5 }, 4, { 2, 3, 4, 5 } },
	{ 3, { 3, 1, 1 }, 4, { 2, 1, 4, 1 }, 4, { 2, 3, 4, 1 } },
	{ 2, { 0, 3 }, 2, { 1, 3 }, 2, { 0, 3 } },
};

/*
 * Returns the index of the operand's element from which broadcasting computes element `index` of
 * the output.
 */
static uint32_t source(const struct shapes *s, uint32_t rank, const uint32_t *dims, uint32_t index)
{
	uint32_t at = 0, stride = 1;

	for (uint32_t i = 0; i < s->rank; i++) {
		uint32_t position = index % s->out[s->rank - 1 - i];

		index /= s->out[s->rank - 1 - i];
		if (i >= rank)
			continue;
		at += dims[rank - 1 - i] == 1 ? 0 : position * stride;
		stride *= dims[rank - 1 - i];
	}
	return at;
}

static void test_broadcasting(void **state)
{
	float a[120], b[120];

	(void)state;
	for (uint32_t i = 0; i < 120; i++) {
		a[i] = (float)i;
		b[i] = (float)(1000 * i);
	}
	for (size_t k = 0; k < LENGTH(broadcasts); k++) {
		const struct shapes s = broadcasts[k];
		struct op_case c;
		const float *out;

		oc_init(&c, "ADD");
		oc_input(&c, NN_TENSOR_FLOAT32, s.rank_a, s.a, a);
		oc_input(&c, NN_TENSOR_FLOAT32, s.rank_b, s.b, b);
		oc_int(&c, 0);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_int_equal(oc_result(&c, 0)->rank, s.rank);
		assert_memory_equal(oc_result(&c, 0)->dims, s.out, s.rank * sizeof(*s.out));
		out = oc_result(&c, 0)->data;
		for (uint32_t i = 0; i < nn_tensor_count(oc_result(&c, 0)); i++)
			assert_true(out[i] == a[source(&s, s.rank_a, s.a, i)] +
					      b[source(&s, s.rank_b, s.b, i)]);
		oc_free(&c);
	}
}

static void test_shapes_that_do_not_broadcast(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "MAXIMUM");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 3), NULL);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2), NULL);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
	assert_non_null(strstr(c.err.message, "cannot be broadcast: 3 and 2"));
	oc_free(&c);
}

/* ---- Results ---- */

struct float_case {
	const char *op;
	int32_t activation;		/* activation code; -1: the operation has no activation */
	float a, b, result;
};

static void run_float_case(const struct float_case *t, int32_t type)
{
	struct op_case c;
	bool half = type == NN_TENSOR_FLOAT16;
	uint16_t fp16[2] = { 0 };
	float got;

	oc_init(&c, t->op);
	if (half) {
		/* The tests need only the float16 values 1.5 and -2. */
		fp16[0] = t->a == 1.5f ? 0x3e00 : 0xc000;
		fp16[1] = t->b == 1.5f ? 0x3e00 : 0xc000;
	}
	oc_input(&c, type, OC_DIMS(1), half ? (const void *)&fp16[0] : &t->a);
	oc_input(&c, type, OC_DIMS(1), half ? (const void *)&fp16[1] : &t->b);
	if (t->activation >= 0)
		oc_int(&c, t->activation);
	oc_output(&c, type);
	assert_int_equal(oc_run(&c), NN_OK);
	got = nn_tensor_float(oc_result(&c, 0), 0);
	if (!(got == t->result))
		fail_msg("%s of %g and %g, activation %d: %g, not %g", t->op, (double)t->a,
			 (double)t->b, t->activation, (double)got, (double)t->result);
	oc_free(&c);
}

static void test_float_arithmetic(void **state)
{
	static const struct float_case table[] = {
		{ "ADD", 0, 1.5f, -2, -0.5f },	  { "ADD", 1, 1.5f, -2, 0 },
		{ "ADD", 2, -2, -2, -1 },	  { "ADD", 3, 1.5f, 1.5f, 3 },
		{ "SUB", 0, 1.5f, -2, 3.5f },	  { "SUB", 2, 1.5f, -2, 1 },
		{ "MUL", 0, 1.5f, -2, -3 },	  { "MUL", 3, -2, -2, 4 },
		{ "DIV", 0, 1.5f, -2, -0.75f },	  { "DIV", 1, 1.5f, -2, 0 },
		{ "MAXIMUM", -1, 1.5f, -2, 1.5f }, { "MINIMUM", -1, 1.5f, -2, -2 },
		{ "POW", -1, 1.5f, -2, 4.0f / 9 }, { "POW", -1, -2, -2, 0.25f },
		{ "PRELU", -1, 1.5f, -2, 1.5f },  { "PRELU", -1, -2, 1.5f, -3 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		run_float_case(&table[i], NN_TENSOR_FLOAT32);
		if (table[i].result != 4.0f / 9)
			run_float_case(&table[i], NN_TENSOR_FLOAT16);
	}
}

static void test_int_arithmetic(void **state)
{
	static const struct {
		const char *op;
		int32_t a, b, result;
	} table[] = {
		{ "ADD", INT32_MAX, 1, INT32_MIN }, { "SUB", INT32_MIN, 1, INT32_MAX },
		{ "MUL", 1 << 16, 1 << 16, 0 },	    { "MUL", -3, 5, -15 },
		{ "DIV", 7, 2, 3 },		    { "DIV", -7, 2, -4 },
		{ "DIV", 7, -2, -4 },		    { "DIV", -7, -2, 3 },
		{ "DIV", -8, 2, -4 },		    { "DIV", 5, 0, 0 },
		{ "DIV", INT32_MIN, -1, INT32_MIN },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, table[i].op);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(1), &table[i].a);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(1), &table[i].b);
		oc_int(&c, 0);
		oc_output(&c, NN_TENSOR_INT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_int_equal(*(int32_t *)oc_result(&c, 0)->data, table[i].result);
		oc_free(&c);
	}
}

static void test_activations_that_are_refused(void **state)
{
	static const struct {
		int32_t type, activation;
	} table[] = {
		{ NN_TENSOR_INT32, 1 }, { NN_TENSOR_FLOAT32, 4 }, { NN_TENSOR_FLOAT32, -1 },
		{ NN_TENSOR_QUANT8_ASYMM, 4 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, "ADD");
		oc_input(&c, table[i].type, OC_DIMS(1), NULL);
		oc_input(&c, table[i].type, OC_DIMS(1), NULL);
		oc_int(&c, table[i].activation);
		oc_output(&c, table[i].type);
		assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
		assert_non_null(strstr(c.err.message, "input 2"));
		oc_free(&c);
	}
}

/* ---- Quantised: every pair of bytes, with an error of at most one step of the output ---- */

struct quantisation {
	float scale;
	int32_t zero_point;
};

static double stored(int32_t type, uint8_t byte)
{
	return type == NN_TENSOR_QUANT8_ASYMM ? byte : (int8_t)byte;
}

static double q8_real(int32_t type, struct quantisation q, uint8_t byte)
{
	return (stored(type, byte) - q.zero_point) * (double)q.scale;
}

static double real_add(double x, double y)
{
	return x + y;
}

static double real_sub(double x, double y)
{
	return x - y;
}

static double real_mul(double x, double y)
{
	return x * y;
}

static double real_prelu(double x, double y)
{
	return x >= 0 ? x : x * y;
}

static void every_pair(const char *op, bool activation, int32_t type, struct quantisation a,
		       struct quantisation b, struct quantisation out, double (*real)(double, double))
{
	bool is_unsigned = type == NN_TENSOR_QUANT8_ASYMM;
	uint8_t bytes[256];
	const uint8_t *got;
	struct op_case c;

	for (int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	oc_init(&c, op);
	oc_input(&c, type, OC_DIMS(256, 1), bytes);
	oc_quantise(&c, a.scale, a.zero_point);
	oc_input(&c, type, OC_DIMS(256), bytes);
	oc_quantise(&c, b.scale, b.zero_point);
	if (activation)
		oc_int(&c, 1);
	oc_output(&c, type);
	oc_quantise(&c, out.scale, out.zero_point);
	if (oc_run(&c))
		fail_msg("%s", c.err.message);
	got = oc_result(&c, 0)->data;
	for (int i = 0; i < 256 * 256; i++) {
		double x = q8_real(type, a, (uint8_t)(i / 256)), y = q8_real(type, b, (uint8_t)i);
		double value = real(x, y);
		double want = (activation ? fmax(value, 0) : value) / (double)out.scale + out.zero_point;

		want = fmin(fmax(want, is_unsigned ? 0 : -128), is_unsigned ? 255 : 127);
		if (!(fabs(stored(type, got[i]) - want) <= 1))
			fail_msg("%s of %g and %g: %g steps, not %g", op, x, y, stored(type, got[i]),
				 want);
	}
	oc_free(&c);
}

static void test_quantised_pairs(void **state)
{
	static const struct {
		int32_t type;
		struct quantisation a, b, out;
	} table[] = {
		{ NN_TENSOR_QUANT8_ASYMM, { 0.1f, 128 }, { 0.07f, 3 }, { 0.13f, 100 } },
		{ NN_TENSOR_QUANT8_ASYMM, { 0.5f, 0 }, { 0.01f, 255 }, { 1, 10 } },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, { 0.1f, -128 }, { 0.2f, 0 }, { 0.3f, 17 } },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, { 0.02f, 127 }, { 0.02f, -5 }, { 0.02f, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct quantisation a = table[i].a, b = table[i].b, out = table[i].out;

		every_pair("ADD", true, table[i].type, a, b, out, real_add);
		every_pair("SUB", true, table[i].type, a, b, out, real_sub);
		every_pair("MUL", true, table[i].type, a, b, out, real_mul);
		every_pair("PRELU", false, table[i].type, a, b, out, real_prelu);
		every_pair("MAXIMUM", false, table[i].type, a, b, out, fmax);
		every_pair("MINIMUM", false, table[i].type, a, b, out, fmin);
	}
}

/* ADD refuses an output scale that is too small for the sum. */
static void test_add_scale(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "ADD");
	for (int i = 0; i < 2; i++) {
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1), NULL);
		oc_quantise(&c, 1, 0);
	}
	oc_int(&c, 0);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
	oc_quantise(&c, 1e-7f, 0);
	assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
	assert_non_null(strstr(c.err.message, "too small"));
	oc_free(&c);
}

/* ---- Comparisons and logic ---- */

static void test_comparisons(void **state)
{
	static const struct {
		const char *op;
		uint8_t less, equal, greater;
	} table[] = {
		{ "EQUAL", 0, 1, 0 }, { "NOT_EQUAL", 1, 0, 1 },	    { "GREATER", 0, 0, 1 },
		{ "LESS", 1, 0, 0 },  { "GREATER_EQUAL", 0, 1, 1 }, { "LESS_EQUAL", 1, 1, 0 },
	};
	/*
	 * Comparisons compare real values. Element 0 of `a` is less than element 0 of `b`, the
	 * elements 1 are equal, and element 2 of `a` is greater. The int8 operands have the scales
	 * 0.5 and 0.25, and the zero points 1 and -1.
	 */
	static const float a[] = { -1, 2, 3 }, b[] = { 1, 2, -3 };
	static const int32_t ints_a[] = { INT32_MIN, 2, 3 }, ints_b[] = { INT32_MAX, 2, -3 };
	static const uint8_t bools_a[] = { 0, 1, 1 }, bools_b[] = { 1, 1, 0 };
	static const uint16_t fp16_a[] = { 0xbc00, 0x4000, 0x4200 }, fp16_b[] = { 0x3c00, 0x4000, 0xc200 };
	static const int8_t q8_a[] = { -1, 5, 7 }, q8_b[] = { 3, 7, -13 };
	static const struct {
		int32_t type;
		const void *a, *b;
	} operands[] = {
		{ NN_TENSOR_FLOAT32, a, b },
		{ NN_TENSOR_FLOAT16, fp16_a, fp16_b },
		{ NN_TENSOR_INT32, ints_a, ints_b },
		{ NN_TENSOR_BOOL8, bools_a, bools_b },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, q8_a, q8_b },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table) * LENGTH(operands); i++) {
		size_t k = i / LENGTH(operands), o = i % LENGTH(operands);
		bool is_q8 = operands[o].type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
		const uint8_t *got;
		struct op_case c;

		oc_init(&c, table[k].op);
		oc_input(&c, operands[o].type, OC_DIMS(3), operands[o].a);
		if (is_q8)
			oc_quantise(&c, 0.5f, 1);
		oc_input(&c, operands[o].type, OC_DIMS(3), operands[o].b);
		if (is_q8)
			oc_quantise(&c, 0.25f, -1);
		oc_output(&c, NN_TENSOR_BOOL8);
		assert_int_equal(oc_run(&c), NN_OK);
		got = oc_result(&c, 0)->data;
		if (got[0] != table[k].less || got[1] != table[k].equal || got[2] != table[k].greater)
			fail_msg("%s of %s: %d %d %d", table[k].op, nn_type_name(operands[o].type),
				 got[0], got[1], got[2]);
		oc_free(&c);
	}
}

static void test_logic(void **state)
{
	static const uint8_t a[] = { 0, 0, 1, 255 }, b[] = { 0, 2, 0, 1 };
	static const struct {
		const char *op;
		uint32_t inputs;
		uint8_t result[4];
	} table[] = {
		{ "LOGICAL_AND", 2, { 0, 0, 0, 1 } },
		{ "LOGICAL_OR", 2, { 0, 1, 1, 1 } },
		{ "LOGICAL_NOT", 1, { 1, 1, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, table[i].op);
		oc_input(&c, NN_TENSOR_BOOL8, OC_DIMS(4), a);
		if (table[i].inputs == 2)
			oc_input(&c, NN_TENSOR_BOOL8, OC_DIMS(4), b);
		oc_output(&c, NN_TENSOR_BOOL8);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_memory_equal(oc_result(&c, 0)->data, table[i].result, 4);
		oc_free(&c);
	}
}

/* ---- Functions of one element ---- */

static double real_neg(double x)
{
	return -x;
}

static double real_gelu(double x)
{
	return x * (1 + erf(x / sqrt(2))) / 2;
}

static double real_rsqrt(double x)
{
	return 1 / sqrt(x);
}

static void test_functions(void **state)
{
	static const struct {
		const char *op;
		double (*real)(double x);
		bool positive;
	} table[] = {
		{ "FLOOR", floor, false }, { "ABS", fabs, false }, { "NEG", real_neg, false },
		{ "EXP", exp, false },	   { "SIN", sin, false },  { "LOG", log, true },
		{ "ERF", erf, false },	   { "GELU", real_gelu, false },
		{ "SQRT", sqrt, true },	   { "RSQRT", real_rsqrt, true },
	};
	float in[100];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		const float *out;
		struct op_case c;

		for (int k = 0; k < 100; k++)
			in[k] = (float)(table[i].positive ? k + 1 : k - 50) * 0.17f;
		oc_init(&c, table[i].op);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(4, 25), in);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		out = oc_result(&c, 0)->data;
		for (int k = 0; k < 100; k++) {
			double want = table[i].real((double)in[k]);

			assert_true(fabs((double)out[k] - want) <= 1e-6 + 1e-6 * fabs(want));
		}
		oc_free(&c);
	}
}

/*
 * Tests RSQRT of every value of both 8-bit types. RSQRT returns the largest value for a number that
 * has no reciprocal square root.
 */
static void test_rsqrt_of_bytes(void **state)
{
	static const struct {
		int32_t type, in_zero, out_zero, low, high;
	} table[] = {
		{ NN_TENSOR_QUANT8_ASYMM, 10, 3, 0, 255 },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, -100, -128, -128, 127 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		const double in_scale = 0.25, out_scale = 0.0078125;
		struct op_case c;
		uint8_t in[256];

		for (int k = 0; k < 256; k++)
			in[k] = (uint8_t)k;
		oc_init(&c, "RSQRT");
		oc_input(&c, table[i].type, OC_DIMS(256), in);
		oc_quantise(&c, (float)in_scale, table[i].in_zero);
		oc_output(&c, table[i].type);
		oc_quantise(&c, (float)out_scale, table[i].out_zero);
		assert_int_equal(oc_run(&c), NN_OK);
		for (int k = 0; k < 256; k++) {
			bool is_signed = table[i].type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
			uint8_t out = ((const uint8_t *)oc_result(&c, 0)->data)[k];
			int stored = (is_signed ? (int8_t)k : k) - table[i].in_zero;
			double want = round(1 / sqrt(stored * in_scale) / out_scale);

			want = stored > 0 ? fmin(want + table[i].out_zero, table[i].high) :
					    table[i].high;
			assert_int_equal(is_signed ? (int8_t)out : out, (int)want);
		}
		oc_free(&c);
	}
}

static void test_int_functions(void **state)
{
	static const int32_t in[] = { 5, -5, 0, INT32_MIN, INT32_MAX };
	static const struct {
		const char *op;
		int32_t result[5];
	} table[] = {
		{ "ABS", { 5, 5, 0, INT32_MIN, INT32_MAX } },
		{ "NEG", { -5, 5, 0, INT32_MIN, -INT32_MAX } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, table[i].op);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(5), in);
		oc_output(&c, NN_TENSOR_INT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_memory_equal(oc_result(&c, 0)->data, table[i].result, sizeof(in));
		oc_free(&c);
	}
}

/* ---- SELECT, CAST, FILL, RANK ---- */

static void test_select(void **state)
{
	static const uint8_t condition[] = { 0, 1, 2, 0 };
	static const float a[] = { 1, 2, 3, 4 }, b[] = { -1, -2, -3, -4 }, want[] = { -1, 2, 3, -4 };
	struct op_case c;

	(void)state;
	oc_init(&c, "SELECT");
	oc_input(&c, NN_TENSOR_BOOL8, OC_DIMS(2, 2), condition);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 2), a);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 2), b);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, want, sizeof(want));
	oc_free(&c);
}

static void test_select_quantised(void **state)
{
	static const uint8_t condition[] = { 1, 0, 1 }, a[] = { 110, 0, 255 }, b[] = { 0, 20, 0 };
	static const uint8_t want[] = { 60, 70, 205 };
	struct op_case c;

	(void)state;
	oc_init(&c, "SELECT");
	oc_input(&c, NN_TENSOR_BOOL8, OC_DIMS(3), condition);
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(3), a);
	oc_quantise(&c, 0.5f, 100);
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(3), b);
	oc_quantise(&c, 0.5f, 0);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
	oc_quantise(&c, 0.5f, 50);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, want, sizeof(want));
	oc_free(&c);
}

static void test_select_of_other_shapes(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "SELECT");
	oc_input(&c, NN_TENSOR_BOOL8, OC_DIMS(2), NULL);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2), NULL);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), NULL);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
	oc_free(&c);
}

static void cast(int32_t from, const void *in, int32_t to, const void *want)
{
	struct op_case c;

	oc_init(&c, "CAST");
	oc_input(&c, from, OC_DIMS(4), in);
	oc_output(&c, to);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, want, nn_tensor_size(oc_result(&c, 0)));
	oc_free(&c);
}

static void test_cast(void **state)
{
	static const float floats[] = { -1.9f, 2.9f, 300, NAN }, huge[] = { 1e20f, -1e20f, 0, -0.5f };
	static const int32_t ints[] = { -1, 2, 300, 0 }, limits[] = { INT32_MAX, INT32_MIN, 0, 0 };
	static const uint8_t bytes[] = { 0, 2, 255, 0 };
	static const float wide[] = { -1, 2, 300, 0 }, from_bytes[] = { 0, 2, 255, 0 };
	static const int32_t ints_of_bytes[] = { 0, 2, 255, 0 };
	static const uint16_t fp16[] = { 0xbc00, 0x4000, 0x5cb0, 0 };

	(void)state;
	cast(NN_TENSOR_FLOAT32, floats, NN_TENSOR_INT32, ints);
	cast(NN_TENSOR_FLOAT32, huge, NN_TENSOR_INT32, limits);
	cast(NN_TENSOR_FLOAT32, floats, NN_TENSOR_QUANT8_ASYMM, bytes);
	cast(NN_TENSOR_INT32, ints, NN_TENSOR_QUANT8_ASYMM, bytes);
	cast(NN_TENSOR_INT32, ints, NN_TENSOR_FLOAT32, wide);
	cast(NN_TENSOR_INT32, ints, NN_TENSOR_FLOAT16, fp16);
	cast(NN_TENSOR_FLOAT16, fp16, NN_TENSOR_INT32, ints);
	cast(NN_TENSOR_QUANT8_ASYMM, bytes, NN_TENSOR_FLOAT32, from_bytes);
	cast(NN_TENSOR_QUANT8_ASYMM, bytes, NN_TENSOR_INT32, ints_of_bytes);
	cast(NN_TENSOR_BOOL8, bytes, NN_TENSOR_BOOL8, bytes);
	cast(NN_TENSOR_QUANT16_SYMM, fp16, NN_TENSOR_QUANT16_SYMM, fp16);
}

static void test_fill(void **state)
{
	static const int32_t dims[] = { 2, 3 }, negative[] = { 2, -1 };
	static const uint16_t half = 0x3e00;
	struct op_case c;

	(void)state;
	oc_init(&c, "FILL");
	oc_input(&c, NN_TENSOR_INT32, OC_DIMS(2), dims);
	oc_input(&c, NN_FLOAT16, 0, NULL, &half);
	oc_output(&c, NN_TENSOR_FLOAT16);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_int_equal(oc_result(&c, 0)->rank, 2);
	assert_int_equal(nn_tensor_count(oc_result(&c, 0)), 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_true(nn_tensor_float(oc_result(&c, 0), i) == 1.5f);
	oc_free(&c);

	oc_init(&c, "FILL");
	oc_input(&c, NN_TENSOR_INT32, OC_DIMS(2), negative);
	oc_int(&c, 3);
	oc_output(&c, NN_TENSOR_INT32);
	assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
	oc_free(&c);
}

static void test_rank(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "RANK");
	oc_input(&c, NN_TENSOR_BOOL8, OC_DIMS(1, 2, 1), NULL);
	oc_output(&c, NN_INT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_int_equal(*(int32_t *)oc_result(&c, 0)->data, 3);
	oc_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_signatures),
		heap_unit_test(test_mul_scale),
		heap_unit_test(test_broadcasting),
		heap_unit_test(test_shapes_that_do_not_broadcast),
		heap_unit_test(test_float_arithmetic),
		heap_unit_test(test_int_arithmetic),
		heap_unit_test(test_activations_that_are_refused),
		heap_unit_test(test_quantised_pairs),
		heap_unit_test(test_add_scale),
		heap_unit_test(test_comparisons),
		heap_unit_test(test_logic),
		heap_unit_test(test_functions),
		heap_unit_test(test_rsqrt_of_bytes),
		heap_unit_test(test_int_functions),
		heap_unit_test(test_select),
		heap_unit_test(test_select_quantised),
		heap_unit_test(test_select_of_other_shapes),
		heap_unit_test(test_cast),
		heap_unit_test(test_fill),
		heap_unit_test(test_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
