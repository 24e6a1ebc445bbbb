/* SPDX-License-Identifier: MIT */
/*
 * Tests infinity and NaN in float32, with the reference kernels and the kernels of each instruction
 * set. Operations without an activation preserve infinity and NaN, and a maximum or minimum with
 * NaN is NaN.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model_builder.h"
#include "ops/op.h"
#include "plan/internal.h"
#include "plan/kernels/isa.h"

enum { COUNT = 64 };			/* number of elements; more than a vector register has */

static struct model_builder built;

static float quotient(float x, float y)
{
	return x / y;
}

static float sum(float x, float y)
{
	return x + y;
}

static float difference(float x, float y)
{
	return x - y;
}

static float product(float x, float y)
{
	return x * y;
}

static float greater(float x, float y)
{
	return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}

static float smaller(float x, float y)
{
	return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
}

/* Returns the expected result of RELU. If x is NaN, the test accepts any result. */
static float relu(float x, float y)
{
	(void)y;
	return x > 0 ? x : 0;
}

static const struct {
	const char *name;
	int32_t code;
	uint32_t inputs;		/* number of inputs of shape [COUNT] */
	bool has_activation;
	float (*right)(float x, float y);
} operations[] = {
	{ "ADD", 0, 2, true, sum },
	{ "MUL", 18, 2, true, product },
	{ "DIV", 30, 2, true, quotient },
	{ "SUB", 36, 2, true, difference },
	{ "MAXIMUM", 65, 2, false, greater },
	{ "MINIMUM", 66, 2, false, smaller },
	{ "RELU", 19, 1, false, relu },
};

static const float odd[] = { INFINITY, -INFINITY, NAN, 0, 1, -2, 3e38f, -3e38f };

static void run(const char *kernels, const float *x, const float *y, float *out)
{
	const struct nn_plan_options options = { .kernels = kernels };
	struct nn_arg args[3] = {
		{ .data = (void *)x, .length = COUNT * sizeof(*x) },
		{ .data = (void *)y, .length = COUNT * sizeof(*y) },
	};
	const uint32_t inputs = built.subgraphs[0].num_inputs;
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;
	struct nn_execution e = {
		.num_inputs = inputs, .num_outputs = 1, .inputs = args, .outputs = args + inputs,
	};

	args[inputs] = (struct nn_arg){ .data = out, .length = COUNT * sizeof(*out) };
	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, &options, &plan, &err) || nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	nn_plan_free(plan);
}

static void check(const char *name, const char *kernels, const float *got, const float *want)
{
	for (size_t i = 0; i < COUNT; i++)
		if (isnan(want[i]) ? !isnan(got[i]) : !(got[i] == want[i]))
			fail_msg("%s with %s: element %zu is %g, not %g", name,
				 kernels ? kernels : "the best kernels", i, (double)got[i],
				 (double)want[i]);
}

/* Checks the results of the reference kernels, and of the kernels of each instruction set. */
static void check_all(const char *name, const float *x, const float *y, const float *want)
{
	const struct nn_isa *isa;
	float out[COUNT];

	run("none", x, y, out);
	check(name, "the reference", out, want);
	for (size_t i = 0; (isa = nn_isa_at(i)); i++) {
		run(isa->name, x, y, out);
		check(name, isa->name, out, want);
	}
}

static void test_elements(void **state)
{
	float x[COUNT], y[COUNT], want[COUNT];

	(void)state;
	for (size_t k = 0; k < sizeof(operations) / sizeof(operations[0]); k++) {
		uint32_t in[3], count = 0, out;

		mb_init(&built);
		while (count < operations[k].inputs)
			in[count++] = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT,
						 MB_DIMS(COUNT));
		out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
		if (operations[k].has_activation)
			in[count++] = mb_int32(&built, 0);
		mb_operation(&built, operations[k].code, count, in, 1, &out);
		for (size_t i = 0; i < COUNT; i++) {
			x[i] = odd[i / 8];
			y[i] = odd[i % 8];
			if (operations[k].inputs == 1 && isnan(x[i]))
				x[i] = 5;
			want[i] = operations[k].right(x[i], y[i]);
		}
		check_all(operations[k].name, x, y, want);
	}
}

/*
 * Tests the product of an input of shape [COUNT, 1] and one weight, and L2 normalisation along axis
 * 0 of one or many columns.
 */
static void test_rows(void **state)
{
	static const uint32_t shapes[][2] = { { COUNT, 1 }, { COUNT, 1 }, { 2, COUNT / 2 } };
	float x[COUNT], want[COUNT];

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		uint32_t in, out;

		mb_init(&built);
		in = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, 2, shapes[kind]);
		out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, 2, shapes[kind]);
		if (!kind)
			mb_operation(&built, 9, MB_LIST(in,
				mb_constant(&built, NN_TENSOR_FLOAT32, &(float){ 2 }, 4, MB_DIMS(1, 1)),
				mb_constant(&built, NN_TENSOR_FLOAT32, &(float){ 0 }, 4, MB_DIMS(1)),
				mb_int32(&built, 0)), MB_LIST(out));
		else
			mb_operation(&built, 11, MB_LIST(in, mb_int32(&built, 0)), MB_LIST(out));
		for (size_t i = 0; i < COUNT; i++)
			x[i] = kind ? 0 : odd[i % 8];
		/*
		 * The norm of the single column, or of columns 3 and 4 of many columns, is NaN; the
		 * results of all other columns are 0.
		 */
		if (kind) {
			x[3] = NAN;
			x[COUNT / 2 + 4] = NAN;
		}
		for (size_t i = 0; i < COUNT; i++) {
			size_t column = i % (COUNT / 2);

			want[i] = !kind ? x[i] * 2 : kind == 1 || column == 3 || column == 4 ?
				  NAN : 0;
		}
		check_all(kind ? "L2_NORMALIZATION" : "FULLY_CONNECTED", x, x, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
