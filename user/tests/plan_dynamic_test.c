/* SPDX-License-Identifier: MIT */
/*
 * Tests operations whose weights are not constants. Kernels pack variable weights in each
 * execution, and must give the results of the reference kernels. If no other kernel supports the
 * weights, the reference kernel runs. The test covers float inputs that are quantised in each
 * execution.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_builder.h"
#include "ops/float16.h"
#include "ops/op.h"
#include "plan/compiled.h"
#include "vectors/random.h"
#include "tests/heap_blocks.h"

#define MAX_BYTES (1 << 17)
#define NONE (-1)

/*
 * An operation with an input, a filter and a bias. The operation's scalars are listed in `scalars`,
 * which ends with NONE.
 */
struct weighted {
	const char *name;
	int32_t code;
	uint32_t x[4];
	uint32_t filter[4];
	uint32_t channels;
	uint32_t out[4];
	int32_t scalars[8];
	uint32_t threads;		/* minimum number of packing tasks if two threads run */
};

static const struct weighted cases[] = {
	{ "convolution", NN_OP_CONV_2D, { 1, 12, 12, 16 }, { 130, 3, 3, 16 }, 130,
	  { 1, 12, 12, 130 }, { 1, 1, 1, 3, NONE }, 3 },
	{ "convolution of pixels", NN_OP_CONV_2D, { 2, 9, 9, 21 }, { 70, 1, 1, 21 }, 70,
	  { 2, 9, 9, 70 }, { 1, 1, 1, 0, NONE }, 1 },
	{ "convolution of many taps", NN_OP_CONV_2D, { 1, 255, 2, 16 }, { 5, 255, 1, 16 }, 5,
	  { 1, 1, 2, 5 }, { 2, 1, 1, 0, NONE }, 1 },
	{ "depthwise convolution", NN_OP_DEPTHWISE_CONV_2D, { 1, 12, 12, 67 }, { 1, 3, 3, 67 }, 67,
	  { 1, 12, 12, 67 }, { 1, 1, 1, 1, 1, NONE }, 1 },
	{ "depthwise convolution of more outputs", NN_OP_DEPTHWISE_CONV_2D, { 1, 12, 12, 5 },
	  { 1, 3, 3, 40 }, 40, { 1, 12, 12, 40 }, { 1, 1, 1, 8, 0, NONE }, 5 },
	{ "depthwise convolution of few channels", NN_OP_DEPTHWISE_CONV_2D, { 1, 12, 12, 3 },
	  { 1, 3, 3, 24 }, 24, { 1, 12, 12, 24 }, { 1, 1, 1, 8, 0, NONE }, 1 },
	{ "convolution in groups", NN_OP_GROUPED_CONV_2D, { 1, 12, 12, 12 }, { 20, 3, 3, 6 }, 20,
	  { 1, 12, 12, 20 }, { 1, 1, 1, 2, 0, NONE }, 2 },
	{ "product of a row", NN_OP_FULLY_CONNECTED, { 1, 515 }, { 45, 515 }, 45, { 1, 45 },
	  { 0, NONE }, 0 },
	{ "product of few rows", NN_OP_FULLY_CONNECTED, { 3, 37 }, { 31, 37 }, 31, { 3, 31 },
	  { 3, NONE }, 0 },
	{ "product of rows", NN_OP_FULLY_CONNECTED, { 70, 65 }, { 130, 65 }, 130, { 70, 130 },
	  { 1, NONE }, 3 },
};

static const int32_t types[] = {
	NN_TENSOR_FLOAT32, NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED,
};

static struct model_builder built;
static _Alignas(64) char in[3][MAX_BYTES], right[MAX_BYTES], got[MAX_BYTES];

static uint32_t rank_of(const uint32_t dims[4])
{
	return dims[2] ? 4 : 2;
}

static void quantise(uint32_t operand, int32_t type, float scale, int32_t zero)
{
	struct nn_operand *o = &built.operands[0][operand];

	if (type == NN_TENSOR_FLOAT32)
		return;
	o->scale = scale;
	o->zero_point = zero + (type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0);
	if (o->type == NN_TENSOR_INT32)
		o->zero_point = 0;
}

/* Builds a model whose filter and bias are inputs; the bias may instead be a constant of zeros. */
static void build(const struct weighted *w, int32_t type, bool constant_bias)
{
	static const char zeros[1024];
	const int32_t bias_type = type == NN_TENSOR_FLOAT32 ? type : NN_TENSOR_INT32;
	uint32_t list[16], count = 3, out;

	mb_init(&built);
	list[0] = mb_operand(&built, type, NN_SUBGRAPH_INPUT, rank_of(w->x), w->x);
	list[1] = mb_operand(&built, type, NN_SUBGRAPH_INPUT, rank_of(w->filter), w->filter);
	list[2] = constant_bias ?
		mb_constant(&built, bias_type, zeros, w->channels * 4, 1, &w->channels) :
		mb_operand(&built, bias_type, NN_SUBGRAPH_INPUT, 1, &w->channels);
	quantise(list[0], type, 0.05f, 3);
	quantise(list[1], type, 0.01f, -2);
	quantise(list[2], type, 0.05f * 0.01f, 0);
	for (const int32_t *s = w->scalars; *s != NONE; s++)
		list[count++] = mb_int32(&built, *s);
	/*
	 * GROUPED_CONV_2D has one more scalar, the layout, after the number of groups and the
	 * activation.
	 */
	if (w->code == NN_OP_GROUPED_CONV_2D)
		list[count++] = mb_constant(&built, NN_BOOL, zeros, 1, MB_NONE);
	out = mb_operand(&built, type, NN_SUBGRAPH_OUTPUT, rank_of(w->out), w->out);
	quantise(out, type, 0.2f, 1);
	mb_operation(&built, w->code, count, list, 1, &out);
}

static void fill(int32_t type)
{
	const struct nn_operand *operands = built.operands[0];

	for (uint32_t k = 0; k < 3; k++) {
		uint32_t size;

		assert_true(nn_operand_size(&operands[k], &size));
		assert_true(size < MAX_BYTES);
		for (size_t i = 0; i < size; i += 4) {
			const float value = random_float(-1, 1);
			const int32_t whole = (int32_t)pick(0, 20000) - 10000;

			if (type == NN_TENSOR_FLOAT32)
				memcpy(in[k] + i, &value, 4);
			else if (k == 2)
				memcpy(in[k] + i, &whole, 4);
			else
				for (size_t b = 0; b < 4; b++)
					in[k][i + b] = (char)random_bits();
		}
	}
}

static struct nn_plan *create(const char *kernels, uint32_t preference)
{
	const struct nn_plan_options options = { .kernels = kernels, .preference = preference };
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;

	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	return plan;
}

static void execute(const struct nn_plan *plan, char *out)
{
	const struct nn_subgraph *s = &built.subgraphs[0];
	struct nn_arg args[3] = { { .data = in[0] }, { .data = in[1] }, { .data = in[2] } };
	static int32_t other;
	struct nn_arg results[] = { { .data = out, .length = MAX_BYTES },
				    { .data = &other, .length = sizeof(other) } };
	struct nn_execution e = { .num_inputs = s->num_inputs, .num_outputs = s->num_outputs,
				  .inputs = args, .outputs = results };
	struct nn_error err = { "" };

	for (uint32_t i = 0; i < 3; i++)
		args[i].length = MAX_BYTES;
	memset(out, 0x5a, MAX_BYTES);
	if (nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
}

/*
 * Compares the results of kernels with the results of reference kernels. Floats may differ
 * slightly, because kernels and reference kernels add the terms of a sum in different orders.
 */
static void compare(const struct nn_plan *plan, const struct nn_plan *reference,
		    const struct weighted *w, int32_t type)
{
	uint32_t count = 1;

	execute(plan, got);
	execute(reference, right);
	for (uint32_t i = 0; i < rank_of(w->out); i++)
		count *= w->out[i];
	for (uint32_t i = 0; i < count; i++) {
		const float a = ((float *)got)[i], b = ((float *)right)[i];

		if (type == NN_TENSOR_FLOAT32 ? fabsf(a - b) > 1e-4f * (1 + fabsf(b)) :
						got[i] != right[i])
			fail_msg("%s, %s, %s: element %u", w->name, nn_type_name(type),
				 plan->compiled->isa->name, i);
	}
}

static void check(const struct weighted *w, int32_t type, const char *kernels, bool constant_bias)
{
	struct nn_plan *plan, *reference;
	const struct compiled_step *step;
	bool is_float = type == NN_TENSOR_FLOAT32;

	build(w, type, constant_bias);
	reference = create("none", 0);
	for (uint32_t preference = 0; preference < 2; preference++) {
		plan = create(kernels, preference);
		assert_non_null(plan->compiled);
		step = &plan->compiled->steps[0];
		assert_non_null(step->ready.kernel);
		if (!is_float || w->threads)
			assert_true(step->ready.pack_tasks >= 1);
		if (plan->compiled->threads > 1)
			assert_true(step->ready.pack_tasks >= w->threads);
		for (uint32_t i = 0; i < 3; i++) {
			fill(type);
			compare(plan, reference, w, type);
		}
		/*
		 * Execute the model with sums that exceed 30 bits or wrap around, between
		 * executions with smaller sums.
		 */
		if (!is_float && !constant_bias) {
			((int32_t *)in[2])[w->channels - 1] = INT32_MAX;
			((int32_t *)in[2])[0] = 1 << 30;
			compare(plan, reference, w, type);
			fill(type);
			compare(plan, reference, w, type);
		}
		nn_plan_free(plan);
	}
	nn_plan_free(reference);
}

static void test_weights(void **state)
{
	const char *kernels;

	(void)state;
	random_start(1);
	for (uint32_t i = 0; (kernels = nn_plan_kernels_at(i)); i++)
		for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
			for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
				check(&cases[k], types[t], kernels, (i + k + t) % 3 == 0);
}

/*
 * The kernel of a transposed convolution divides the work into stride_height * stride_width parts.
 * The reference kernel runs if stride_height * stride_width needs more than 32 bits.
 */
static void test_parts_that_wrap(void **state)
{
	enum { WIDTH = (1 << 28) + 1, OUT = 20 };
	const int32_t scalars[] = { 0, WIDTH - OUT, 0, 0, WIDTH, 16, 0 };
	const uint32_t one = 1;
	uint32_t list[11], count = 3, out;
	struct nn_plan *plan;

	(void)state;
	mb_init(&built);
	list[0] = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT, MB_DIMS(1, 1, 1, 1));
	list[1] = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT,
			     MB_DIMS(1, 1, WIDTH, 1));
	list[2] = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, 1, &one);
	quantise(list[0], NN_TENSOR_QUANT8_ASYMM, 0.05f, 3);
	quantise(list[1], NN_TENSOR_QUANT8_ASYMM, 0.01f, -2);
	quantise(list[2], NN_TENSOR_QUANT8_ASYMM, 0.05f * 0.01f, 0);
	for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++)
		list[count++] = mb_int32(&built, scalars[i]);
	list[count++] = mb_constant(&built, NN_BOOL, "", 1, MB_NONE);
	out = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 1, OUT, 1));
	quantise(out, NN_TENSOR_QUANT8_ASYMM, 0.2f, 1);
	mb_operation(&built, NN_OP_TRANSPOSE_CONV_2D, count, list, 1, &out);
	plan = create(NULL, 0);
	assert_non_null(plan->compiled);
	assert_null(plan->compiled->steps[0].ready.kernel);
	nn_plan_free(plan);
}

/*
 * Tests a grouped convolution in float16. The model contains LSH_PROJECTION, so the compiler does
 * not convert the model to float32. The kernel must count the distance between the biases of two
 * groups in fp16 elements.
 */
static void test_groups_of_fp16(void **state)
{
	enum { GROUPS = 2, WIDTH = 4, OUT = GROUPS * WIDTH };
	const uint32_t image[] = { 1, 4, 4, GROUPS }, filter[] = { OUT, 1, 1, 1 }, bias = OUT;
	const uint32_t out[] = { 1, 4, 4, OUT }, hash[] = { 1, 2 }, one = 1;
	const int32_t scalars[] = { 1, 1, 1, GROUPS, 0 };
	uint32_t list[9], count = 3, lsh[4], outputs[2];
	const char *kernels;

	(void)state;
	mb_init(&built);
	list[0] = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_INPUT, 4, image);
	list[1] = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_INPUT, 4, filter);
	list[2] = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_INPUT, 1, &bias);
	for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++)
		list[count++] = mb_int32(&built, scalars[i]);
	list[count++] = mb_constant(&built, NN_BOOL, "", 1, MB_NONE);
	outputs[0] = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_OUTPUT, 4, out);
	mb_operation(&built, NN_OP_GROUPED_CONV_2D, count, list, 1, &outputs[0]);
	lsh[0] = mb_constant(&built, NN_TENSOR_FLOAT16, "hash", 4, 2, hash);
	lsh[1] = outputs[0];
	lsh[2] = mb_operand(&built, NN_TENSOR_FLOAT16, NN_NO_VALUE, 1, &one);
	lsh[3] = mb_int32(&built, 3);
	outputs[1] = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT, 1, &one);
	mb_operation(&built, NN_OP_LSH_PROJECTION, 4, lsh, 1, &outputs[1]);
	nn_fp32_to_fp16((const float[2 * 16]){ 0 }, in[0], 2 * 16);
	nn_fp32_to_fp16((const float[OUT]){ 0 }, in[1], OUT);
	nn_fp32_to_fp16((const float[OUT]){ 1, 2, 3, 4, 5, 6, 7, 8 }, in[2], OUT);
	for (uint32_t i = 0; (kernels = nn_plan_kernels_at(i)); i++) {
		struct nn_plan *plan = create(kernels, 0);

		execute(plan, got);
		for (uint32_t k = 0; k < 16 * OUT; k++)
			assert_true(nn_fp16_to_float(((uint16_t *)got)[k]) == (float)(k % OUT + 1));
		nn_plan_free(plan);
	}
}

#define DEPTH 8

static uint32_t dynamic_product(uint32_t x, uint32_t rows)
{
	static const int8_t weights[DEPTH] = { 100, -3, 20, 7, -50, 127, 1, 60 };
	static const float bias = 0.25f;
	const uint32_t out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(rows, 1));
	const uint32_t one = 1;
	uint32_t list[] = { x,
		mb_constant(&built, NN_TENSOR_QUANT8_SYMM, weights, DEPTH, MB_DIMS(1, DEPTH)),
		mb_constant(&built, NN_TENSOR_FLOAT32, &bias, sizeof(bias), 1, &one),
		mb_int32(&built, 0), mb_int32(&built, 0) };

	built.operands[0][list[1]].scale = 0.01f;
	mb_operation(&built, NN_OP_DYNAMIC_FULLY_CONNECTED, 5, list, 1, &out);
	return out;
}

static uint32_t arithmetic(int32_t code, uint32_t a, uint32_t b, int32_t lifetime, uint32_t rows,
			   uint32_t columns)
{
	const uint32_t out = mb_operand(&built, NN_TENSOR_FLOAT32, lifetime, MB_DIMS(rows, columns));
	uint32_t list[] = { a, b, mb_int32(&built, 0) };

	mb_operation(&built, code, 3, list, 1, &out);
	return out;
}

/*
 * Compares kernels and reference kernels for an input of two rows, of which the second row has far
 * larger numbers.
 */
static void compare_rows(void)
{
	struct nn_plan *reference = create("none", 0);
	const char *kernels;

	for (uint32_t i = 0; i < 2 * DEPTH; i++)
		((float *)in[0])[i] = (i < DEPTH ? 0.1f : 1000) * (float)(i % DEPTH + 1);
	execute(reference, right);
	for (uint32_t i = 0; (kernels = nn_plan_kernels_at(i)); i++) {
		struct nn_plan *plan = create(kernels, 0);

		execute(plan, got);
		for (uint32_t k = 0; k < 2; k++)
			assert_true(fabsf(((float *)got)[k] - ((float *)right)[k]) <=
				    1e-5f * fabsf(((float *)right)[k]));
		nn_plan_free(plan);
	}
	nn_plan_free(reference);
}

/*
 * Successive products with one input compute the input's range of numbers only once. The second
 * product computes the range again if it reads only a part of the input, or if the input has
 * changed.
 */
static void test_ranges(void **state)
{
	const float thousand[2] = { 1000, 1000 };
	uint32_t x, parts[2], list[3], some;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2, DEPTH));
	for (uint32_t i = 0; i < 2; i++)
		parts[i] = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, DEPTH));
	list[0] = x;
	list[1] = mb_int32(&built, 0);
	list[2] = mb_int32(&built, 2);
	mb_operation(&built, NN_OP_SPLIT, 3, list, 2, parts);
	some = dynamic_product(x, 2);
	arithmetic(NN_OP_ADD, some, dynamic_product(parts[0], 1), NN_SUBGRAPH_OUTPUT, 2, 1);
	compare_rows();

	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2, DEPTH));
	list[0] = mb_constant(&built, NN_TENSOR_FLOAT32, thousand, sizeof(thousand), MB_DIMS(2, 1));
	some = dynamic_product(arithmetic(NN_OP_ADD, x, list[0], NN_TEMPORARY, 2, DEPTH), 2);
	x = arithmetic(NN_OP_MUL, x, list[0], NN_TEMPORARY, 2, DEPTH);
	arithmetic(NN_OP_ADD, some, dynamic_product(x, 2), NN_SUBGRAPH_OUTPUT, 2, 1);
	compare_rows();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_ranges),
		heap_unit_test(test_parts_that_wrap),
		heap_unit_test(test_groups_of_fp16),
	};

	return cmocka_run_group_tests_name("plan_dynamic", tests, NULL, NULL);
}
