/* SPDX-License-Identifier: MIT */
/*
 * Lowers models to dispatches of the engine on Vulkan, runs the dispatches on the CPU
 * (vulkan/shaders.h), and compares with the reference kernels. The models are random graphs, small
 * fused models, and each operation in each type of the engine's table, in random shapes. The
 * environment variable NN_SEED sets the first seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "ops/dynamic.h"
#include "tests/plan_diff/compare.h"
#include "tests/vulkan/form_case.h"
#include "tests/vulkan/shaders.h"
#include "tests/vulkan/samples.h"
#include "vectors/graph.h"
#include "vectors/operations.h"
#include "vulkan/lower.h"

#define ROUNDS (uint32_t)how_often(40, 6)
#define GRAPHS (uint32_t)how_often(400, 24)

static const VkPhysicalDeviceLimits limits = {
	.maxStorageBufferRange = 1 << 30, .minUniformBufferOffsetAlignment = 64,
};

static uint64_t first_seed(void)
{
	const char *given = getenv("NN_SEED");

	return given ? strtoull(given, NULL, 0) : 1;
}

static void ignore(uint32_t operation, const char *reason)
{
	(void)operation;
	if (getenv("NN_VERBOSE"))
		print_message("%s\n", reason);
}

static bool is_supported(const struct nn_model *model)
{
	bool supported[MAX_OPERATIONS] = { false };
	struct nn_error err = { "" };

	if (nn_model_check(model, &err) || nn_ops_check_model(model, NULL, &err) ||
	    graph_supported(model, &limits, supported, ignore, &err))
		fail_msg("%s", err.message);
	for (uint32_t i = 0; i < model->subgraphs[0].num_operations; i++)
		if (!supported[i])
			return false;
	return true;
}

static void run(const struct nn_model *model, const struct nn_execution *e)
{
	struct nn_error err = { "" };
	struct graph graph;

	if (graph_create(model, &limits, &graph, &err))
		fail_msg("%s", err.message);
	play_graph(&graph, e);
	graph_destroy(&graph);
}

/* ---- Operations ---- */

static float element(int32_t type, const void *data, uint32_t i)
{
	return type == NN_TENSOR_FLOAT16 ? nn_fp16_to_float(((const uint16_t *)data)[i]) :
					   ((const float *)data)[i];
}

/*
 * Returns whether two lists of floats are equal within a tolerance that is proportional to the
 * largest float.
 */
static bool is_near(int32_t type, const void *got, const void *right, uint32_t count)
{
	const float tolerance = type == NN_TENSOR_FLOAT16 ? 2e-3f : 1e-5f;
	float largest = 0.1f;

	for (uint32_t i = 0; i < count; i++)
		if (isfinite(element(type, right, i)))
			largest = fmaxf(largest, fabsf(element(type, right, i)));
	for (uint32_t i = 0; i < count; i++) {
		const float x = element(type, got, i), y = element(type, right, i);

		if (x != y && !(fabsf(x - y) <= tolerance * largest) && !(isnan(x) && isnan(y)))
			return false;
	}
	return true;
}

static void compare(const struct form_case *c, const char *name, uint64_t seed)
{
	const struct nn_subgraph *s = &form.subgraphs[0];

	for (uint32_t i = 0; i < s->num_outputs; i++) {
		const int32_t type = s->operands[s->outputs[i]].type;
		const uint32_t length = (uint32_t)c->outputs[i].length;
		const bool is_float = type == NN_TENSOR_FLOAT32 || type == NN_TENSOR_FLOAT16;

		if (is_float ? !is_near(type, c->got[i], c->right[i],
					length / nn_type_info_of(type)->element_size) :
			       memcmp(c->got[i], c->right[i], length) != 0)
			fail_msg("%s of %s, seed %llu: output %u is wrong", name,
				 nn_type_name(form.type), (unsigned long long)seed, i);
	}
}

/*
 * Forms that vectors/form.c lacks, with different scales, images with channels first, or borders.
 */
static const struct form more_forms[] = {
	{ "CONCATENATION", "X[a,b,c] X[a,b,c] i:0|1|2 > X" },
	{ "BATCH_TO_SPACE_ND", "X[n*6,c,h,w] i32[2]{2,3} b:1 > =" },
	{ "SPACE_TO_BATCH_ND", "X[n,c,h*2,w*3] i32[2]{2,3} i32[2,2]{0,2,3,0} b:1 > =" },
	{ "SPACE_TO_BATCH_ND", "X[n,h*2,w*2,c] i32[2]{2,2} i32[2,2]{0,0,0,0} b:0 > =" },
	{ "SPACE_TO_BATCH_ND", "X[n,h*2,w*2,c] i32[2]{2,2} i32[2,2]{0,0,0,2} b:0 > =" },
};

/* Number of runs, by row of the engine's table and by type. */
static uint32_t runs[128][FORM_NUM_TYPES];

static uint32_t row_of(int32_t code)
{
	uint32_t i = 0;

	while (vulkan_op_at(i)->code != code)
		i++;
	return i;
}

static void try_form(const struct form *f, uint32_t t, uint64_t seed)
{
	const struct nn_op *op = form_op(f);
	static struct form_case c;

	if (!op || !vulkan_op_find(op->code) ||
	    !(vulkan_op_find(op->code)->types & NN_T(form_types[t].type)) ||
	    !form_make(f, form_types[t].type, seed, &c) || !is_supported(&form.model))
		return;
	run(&form.model, &c.execution);
	compare(&c, f->name, seed);
	runs[row_of(op->code)][t]++;
}

static void test_operations(void **unused)
{
	const uint32_t num_more = sizeof(more_forms) / sizeof(more_forms[0]);
	const struct vulkan_op *op;

	(void)unused;
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < num_forms + num_more; i++)
			for (uint32_t t = 0; t < FORM_NUM_TYPES; t++)
				if (form_types[t].type != NN_INT32)
					try_form(i < num_forms ? &forms[i] :
						 &more_forms[i - num_forms], t,
						 first_seed() + round);
	for (uint32_t i = 0; (op = vulkan_op_at(i)); i++)
		for (uint32_t t = 0; t < FORM_NUM_TYPES; t++)
			if (form_types[t].type != NN_INT32 &&
			    op->types & NN_T(form_types[t].type) && !runs[i][t])
				fail_msg("%s of %s did not run", nn_op_name(op->code),
					 form_types[t].name);
}

/* ---- Graphs ---- */

static void test_graphs(void **unused)
{
	static char input[VALUES_SIZE / 8], right[MAX_OUTPUTS][VALUES_SIZE / 64];
	static char got[MAX_OUTPUTS][VALUES_SIZE / 64];
	const struct nn_plan_options options = { .kernels = "none" };
	uint32_t checked = 0;

	(void)unused;
	g.values = malloc(VALUES_SIZE);
	assert_non_null(g.values);
	for (uint32_t i = 0; i < GRAPHS; i++) {
		struct nn_arg in = { .data = input }, out[MAX_OUTPUTS] = { 0 };
		struct nn_execution e = { .num_inputs = 1, .inputs = &in, .outputs = out };
		struct nn_error err = { "" };
		struct nn_plan *plan;
		uint32_t size;

		random_start((first_seed() + i) * 7919);
		make_graph();
		if (!is_supported(&g.model))
			continue;
		assert_true(nn_operand_size(&g.operands[g.input], &size) && size <= sizeof(input));
		in.length = size;
		fill(g.type, input, size, 2);
		e.num_outputs = g.subgraph.num_outputs;
		for (uint32_t k = 0; k < e.num_outputs; k++) {
			assert_true(nn_operand_size(&g.operands[g.outputs[k]], &size));
			assert_true(size <= sizeof(right[k]));
			out[k] = (struct nn_arg){ .data = right[k], .length = size };
		}
		assert_int_equal(nn_plan_create(&g.model, &options, &plan, &err), NN_OK);
		if (!nn_plan_execute(plan, &e, &err)) {
			for (uint32_t k = 0; k < e.num_outputs; k++)
				out[k].data = got[k];
			run(&g.model, &e);
			for (uint32_t k = 0; k < e.num_outputs; k++)
				if (graph_differs(k, got[k], right[k]) >= 0)
					fail_msg("graph %u: output %u is wrong", i, k);
			checked++;
		}
		nn_plan_free(plan);
	}
	free(g.values);
	assert_true(checked >= GRAPHS / 2);
}

/* ---- Fused operations ---- */

/* Makes a model of a CAST from float16, and a sum of the CAST's result and a float32 operand. */
static void make_widened(void)
{
	static const float terms[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint32_t x, wide, c, out;

	mb_init(&b);
	x = tensor(NN_TENSOR_FLOAT16, NN_SUBGRAPH_INPUT);
	wide = tensor(NN_TENSOR_FLOAT32, NN_TEMPORARY);
	out = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT);
	c = mb_constant(&b, NN_TENSOR_FLOAT32, terms, sizeof(terms), MB_DIMS(8));
	mb_operation(&b, NN_OP_CAST, MB_LIST(x), MB_LIST(wide));
	mb_operation(&b, NN_OP_ADD, MB_LIST(wide, c, mb_int32(&b, 0)), MB_LIST(out));
}

/*
 * Checks that the built sample becomes one dispatch and has the results of the reference kernels.
 */
static void check_fused(void)
{
	const struct nn_plan_options options = { .kernels = "none" };
	const struct nn_subgraph *s = &b.model.subgraphs[0];
	static float inputs[2][128], right[128], got[128];
	struct nn_arg in[2], out = { .data = right };
	struct nn_execution e = { .num_inputs = s->num_inputs, .num_outputs = 1, .inputs = in,
				  .outputs = &out };
	struct nn_error err = { "" };
	struct nn_plan *plan;
	struct graph graph;
	uint32_t size;

	for (uint32_t i = 0; i < s->num_inputs; i++) {
		assert_true(nn_operand_size(&s->operands[s->inputs[i]], &size));
		assert_true(size <= sizeof(inputs[i]));
		for (uint32_t k = 0; k < 128; k++) {
			const float x = random_float(-1, 3);
			const uint16_t half = nn_float_to_fp16(x);

			if (s->operands[s->inputs[i]].type == NN_TENSOR_FLOAT16)
				memcpy((char *)inputs[i] + 2 * k, &half, sizeof(half));
			else
				inputs[i][k] = x;
		}
		in[i] = (struct nn_arg){ .data = inputs[i], .length = size };
	}
	assert_true(nn_operand_size(&s->operands[s->outputs[0]], &size) && size <= sizeof(right));
	out.length = size;
	assert_int_equal(nn_plan_create(&b.model, &options, &plan, &err), NN_OK);
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
	nn_plan_free(plan);
	out.data = got;
	assert_int_equal(graph_create(&b.model, &limits, &graph, &err), NN_OK);
	assert_int_equal(graph.num_dispatches, 1);
	play_graph(&graph, &e);
	graph_destroy(&graph);
	assert_true(is_near(NN_TENSOR_FLOAT32, got, right, size / 4));
}

static void test_fused(void **unused)
{
	static const int32_t codes[] = { NN_OP_ADD, NN_OP_SUB, NN_OP_POW, NN_OP_MUL, NN_OP_DIV };

	(void)unused;
	random_start(first_seed());
	make_product();
	check_fused();
	make_widened();
	check_fused();
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		last_code = codes[i];
		make_chain();
		check_fused();
	}
}

/* ---- Limits ---- */

static void make_product_of(uint32_t batches, uint32_t rows, uint32_t columns)
{
	const bool no = false;
	uint32_t x, y, out;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(batches, rows, 1));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(batches, 1, columns));
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(batches, rows, columns));
	mb_operation(&b, NN_OP_BATCH_MATMUL,
		     MB_LIST(x, y, mb_constant(&b, NN_BOOL, &no, 1, MB_NONE),
			     mb_constant(&b, NN_BOOL, &no, 1, MB_NONE)), MB_LIST(out));
}

static void make_softmax_of(uint32_t size)
{
	uint32_t x, out;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT, MB_DIMS(1, size));
	out = mb_operand(&b, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, size));
	b.operands[0][x].scale = 0.5f;
	b.operands[0][out].scale = 1.0f / 256;
	mb_operation(&b, NN_OP_SOFTMAX, MB_LIST(x, mb_float32(&b, 1)), MB_LIST(out));
}

static void make_sum_of(uint32_t size)
{
	const int32_t axis = 0;
	const bool keeps = true;
	uint32_t x, out;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(size));
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&b, NN_OP_REDUCE_SUM,
		     MB_LIST(x, mb_constant(&b, NN_TENSOR_INT32, &axis, sizeof(axis), MB_DIMS(1)),
			     mb_constant(&b, NN_BOOL, &keeps, 1, MB_NONE)), MB_LIST(out));
}

/* Makes a TILE of six axes, of which `axes` are repeated: a copy of 6 + `axes` axes. */
static void make_tile_of(uint32_t axes)
{
	const uint32_t dims[] = { 2, 2, 2, 2, 2, 2 };
	uint32_t to[6], times[6], x, out;

	mb_init(&b);
	for (uint32_t i = 0; i < 6; i++) {
		times[i] = i < 6 - axes ? 1 : 2;
		to[i] = 2 * times[i];
	}
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, 6, dims);
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, 6, to);
	mb_operation(&b, NN_OP_TILE, MB_LIST(x, mb_constant(&b, NN_TENSOR_INT32, times, sizeof(times),
							    MB_DIMS(6))), MB_LIST(out));
}

static void make_activations(uint32_t count)
{
	uint32_t x, out;

	mb_init(&b);
	x = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT);
	for (uint32_t i = 0; i < count; i++, x = out) {
		out = tensor(NN_TENSOR_FLOAT32, i + 1 < count ? NN_TEMPORARY : NN_SUBGRAPH_OUTPUT);
		mb_operation(&b, i % 2 ? NN_OP_RELU1 : NN_OP_RELU, MB_LIST(x), MB_LIST(out));
	}
}

/* The engine refuses an operation only beyond the limit. */
static void test_limits(void **unused)
{
	(void)unused;
	for (uint32_t more = 0; more < 2; more++) {
		/* Each work group computes a tile of 32 rows and 32 columns. */
		make_product_of(1, 65535 * 32 + more, 1);
		assert_int_equal(is_supported(&b.model), !more);
		make_product_of(1, 1, 65535 * 32 + more);
		assert_int_equal(is_supported(&b.model), !more);
		make_product_of(65535 + more, 1, 1);
		assert_int_equal(is_supported(&b.model), !more);
		make_softmax_of(4096 + more);
		assert_int_equal(is_supported(&b.model), !more);
		make_sum_of((1 << 23) + more);
		assert_int_equal(is_supported(&b.model), !more);
		make_tile_of(4 + more);
		assert_int_equal(is_supported(&b.model), !more);
	}
}

/* A tensor may take half of the largest buffer, and a whole model all of the buffer. */
static void test_sizes(void **unused)
{
	struct nn_error err = { "" };
	struct graph graph;
	uint32_t size;

	(void)unused;
	make_product_of(1, 16, 16);
	for (uint32_t less = 0; less < 2; less++) {
		const VkPhysicalDeviceLimits small = { .maxStorageBufferRange = 2 * (16 * 16 * 4 - less) };
		bool supported;

		assert_int_equal(graph_supported(&b.model, &small, &supported, ignore, &err), NN_OK);
		assert_int_equal(supported, !less);
	}
	assert_int_equal(graph_create(&b.model, &limits, &graph, &err), NN_OK);
	size = (uint32_t)graph.size;
	graph_destroy(&graph);
	for (uint32_t less = 0; less < 2; less++) {
		const VkPhysicalDeviceLimits small = {
			.maxStorageBufferRange = size - less, .minUniformBufferOffsetAlignment = 64,
		};

		assert_int_equal(graph_create(&b.model, &small, &graph, &err),
				 less ? NN_INVALID_ARGUMENT : NN_OK);
		if (!less)
			graph_destroy(&graph);
	}
}

/* A dispatch has at most eight steps. */
static void test_steps(void **unused)
{
	struct nn_error err = { "" };
	struct graph graph;

	(void)unused;
	for (uint32_t count = 7; count <= 9; count++) {
		make_activations(count);
		assert_int_equal(graph_create(&b.model, &limits, &graph, &err), NN_OK);
		assert_int_equal(graph.num_dispatches, count <= 8 ? 1 : 2);
		graph_destroy(&graph);
	}
}

/*
 * The largest tensor gets its place first. The two tensors of 256 bytes lie side by side. The result
 * of 512 bytes follows one of them, because the first tensor is not needed any more when the result
 * is made.
 */
static void test_places(void **unused)
{
	static const int32_t order[] = { 1, 0 }, times[] = { 2, 1 };
	uint32_t x, turned, out;
	struct nn_error err = { "" };
	struct graph graph;

	(void)unused;
	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2, 32));
	turned = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(32, 2));
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(64, 2));
	mb_operation(&b, NN_OP_TRANSPOSE, MB_LIST(x, mb_constant(&b, NN_TENSOR_INT32, order, sizeof(order),
								 MB_DIMS(2))), MB_LIST(turned));
	mb_operation(&b, NN_OP_TILE, MB_LIST(turned, mb_constant(&b, NN_TENSOR_INT32, times, sizeof(times),
								 MB_DIMS(2))), MB_LIST(out));
	assert_int_equal(graph_create(&b.model, &limits, &graph, &err), NN_OK);
	assert_int_equal(graph.size - graph.constants_end, 3 * 256);
	assert_int_equal(graph.unshared, 4 * 256);
	graph_destroy(&graph);
}

/* At most 256 work groups find the range of the values of a tensor, each of at least 4096. */
static void test_ranges(void **unused)
{
	static const struct {
		uint32_t total, groups;
	} cases[] = {
		{ 4096, 1 }, { 4097, 2 }, { 256 * 4096, 256 }, { 256 * 4096 + 1, 256 }, { 256 * 4097 + 1, 256 },
	};
	static const int8_t weight = 1;
	static const float bias;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t x, w, c, out;
		struct nn_error err = { "" };
		struct graph graph;

		mb_init(&b);
		x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(cases[i].total, 1));
		w = mb_constant(&b, NN_TENSOR_QUANT8_ASYMM_SIGNED, &weight, 1, MB_DIMS(1, 1));
		b.operands[0][w].scale = 1;
		c = mb_constant(&b, NN_TENSOR_FLOAT32, &bias, sizeof(bias), MB_DIMS(1));
		out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(cases[i].total, 1));
		mb_operation(&b, NN_OP_DYNAMIC_FULLY_CONNECTED,
			     MB_LIST(x, w, c, mb_int32(&b, 0), mb_int32(&b, NN_DYNAMIC_TENSOR)), MB_LIST(out));
		assert_int_equal(graph_create(&b.model, &limits, &graph, &err), NN_OK);
		assert_int_equal(graph.dispatches[0].shader, SHADER_range);
		assert_int_equal(graph.dispatches[0].params.quantise.count, cases[i].groups);
		graph_destroy(&graph);
	}
}

/* ---- Quotients ---- */

/*
 * Error that the test adds to each quotient, in units in the last place; at most the error that
 * Vulkan allows.
 */
static int32_t off;

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static float quotient(float x, float y)
{
	return float_of(bits_of(x / y) + (uint32_t)off);
}

#define QUOTIENT quotient
#define floatBitsToUint bits_of
#define uintBitsToFloat float_of
#define min(x, y) ((x) < (y) ? (x) : (y))
#define max(x, y) ((x) > (y) ? (x) : (y))
#define int(x) (int32_t)(x)

static float nn_divide(float x, float y);
#include "vulkan/shaders/divide.glsl"
#undef int

static void test_quotients(void **unused)
{
	(void)unused;
	random_start(first_seed());
	for (uint32_t i = 0; i < 200000; i++) {
		/* Make random numbers, half of which are near a power of two. */
		const float x = float_of(random_bits() << 1 & 0x807fffff) +
				float_of((pick(100, 150) << 23 | (chance(2) ? pick(0, 3) :
					  random_bits() & 0x7fffff)) ^ (chance(4) ? 0x7fffff : 0));
		const float y = float_of(pick(100, 150) << 23 | (chance(2) ? pick(0, 3) :
					 random_bits() & 0x7fffff) | random_bits() << 31);

		off = (int32_t)pick(0, 6) - 3;
		if (nn_divide(x, y) != x / y)
			fail_msg("%a / %a is %a, not %a", (double)x, (double)y,
				 (double)nn_divide(x, y), (double)(x / y));
	}
	off = 0;
	assert_true(nn_divide(0, 3) == 0 && isinf(nn_divide(1, 0)) && isnan(nn_divide(NAN, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_fused),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_quotients),
	};

	return cmocka_run_group_tests_name("vulkan_lower", tests, NULL, NULL);
}
