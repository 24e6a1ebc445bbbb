/* SPDX-License-Identifier: MIT */
/*
 * The dispatches that models become for the engine on Vulkan run on the CPU (vulkan/shaders.h),
 * against the reference. Models are every operation in every type that the engine's table has, in
 * random shapes, and random graphs. NN_SEED sets the first seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "tests/plan_diff/compare.h"
#include "tests/vulkan/form_case.h"
#include "tests/vulkan/shaders.h"
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
	return type == NN_TENSOR_FLOAT16 ? nn_half_to_float(((const uint16_t *)data)[i]) :
					   ((const float *)data)[i];
}

/* Whether floats are nearly equal, in proportion to the largest one. */
static bool is_near(int32_t type, const void *got, const void *right, uint32_t count)
{
	const float tolerance = type == NN_TENSOR_FLOAT16 ? 2e-3f : 1e-5f;
	float largest = 0.1f;

	for (uint32_t i = 0; i < count; i++)
		if (isfinite(element(type, right, i)))
			largest = fmaxf(largest, fabsf(element(type, right, i)));
	for (uint32_t i = 0; i < count; i++) {
		const float a = element(type, got, i), b = element(type, right, i);

		if (a != b && !(fabsf(a - b) <= tolerance * largest) && !(isnan(a) && isnan(b)))
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
					length / nn_type_info(type)->element_size) :
			       memcmp(c->got[i], c->right[i], length) != 0)
			fail_msg("%s of %s, seed %llu: output %u is wrong", name,
				 nn_type_name(form.type), (unsigned long long)seed, i);
	}
}

/* By row of the table and type: how often it ran. */
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
	const struct vulkan_op *op;

	(void)unused;
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < num_forms; i++)
			for (uint32_t t = 0; t < FORM_NUM_TYPES; t++)
				if (form_types[t].type != NN_INT32)
					try_form(&forms[i], t, first_seed() + round);
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

/* ---- Quotients ---- */

/* Quotients that are off, as Vulkan allows. */
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

static float quotient(float a, float b)
{
	return float_of(bits_of(a / b) + (uint32_t)off);
}

#define QUOTIENT quotient
#define floatBitsToUint bits_of
#define uintBitsToFloat float_of
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define int(x) (int32_t)(x)

static float nn_divide(float a, float b);
#include "vulkan/shaders/divide.glsl"
#undef int

static void test_quotients(void **unused)
{
	(void)unused;
	random_start(first_seed());
	for (uint32_t i = 0; i < 200000; i++) {
		/* Half of them are near a power of two. */
		const float a = float_of(random_bits() << 1 & 0x807fffff) +
				float_of((pick(100, 150) << 23 | (chance(2) ? pick(0, 3) :
					  random_bits() & 0x7fffff)) ^ (chance(4) ? 0x7fffff : 0));
		const float b = float_of(pick(100, 150) << 23 | (chance(2) ? pick(0, 3) :
					 random_bits() & 0x7fffff) | random_bits() << 31);

		off = (int32_t)pick(0, 6) - 3;
		if (nn_divide(a, b) != a / b)
			fail_msg("%a / %a is %a, not %a", (double)a, (double)b,
				 (double)nn_divide(a, b), (double)(a / b));
	}
	off = 0;
	assert_true(nn_divide(0, 3) == 0 && isinf(nn_divide(1, 0)) && isnan(nn_divide(NAN, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_quotients),
	};

	return cmocka_run_group_tests_name("vulkan_lower", tests, NULL, NULL);
}
