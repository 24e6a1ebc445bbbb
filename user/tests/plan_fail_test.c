/* SPDX-License-Identifier: MIT */
/*
 * Makes each allocation of models, operations and plans fail in turn, first alone and then with all
 * later allocations. When an allocation fails, each call must return an error or succeed, and must
 * neither crash nor leak memory. Random graphs are encoded and decoded (wire form), compiled,
 * executed, saved and loaded. The environment variable NN_SEED sets the first seed.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "base/clock.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "tests/failing/failing.h"
#include "tests/plan_diff/compare.h"
#include "vectors/graph.h"
#include "vectors/operations.h"
#include "vectors/random.h"

#define GRAPHS 12
/*
 * The test begins no graph after it has run for RUN_NS; under emulation each graph takes minutes.
 */
#define RUN_NS scaled(60000000000)
#define FIRST_SEED 1

/* The data of a run, which the test makes before allocations begin to fail. */
static struct {
	void *input;
	uint32_t input_size;
	void *out[MAX_OUTPUTS], *right[MAX_OUTPUTS];
	uint32_t sizes[MAX_OUTPUTS];
	void *data;		/* data part of a saved plan */
} r;

#define DATA_SIZE ((size_t)96 << 20)

static enum nn_status execute(const struct nn_plan *plan, void *const *to)
{
	struct nn_arg in = { .data = r.input, .length = r.input_size }, out[MAX_OUTPUTS] = { 0 };
	struct nn_output_shape shapes[MAX_OUTPUTS];
	struct nn_error err;
	struct nn_execution e = {
		.num_inputs = 1, .num_outputs = g.subgraph.num_outputs, .inputs = &in,
		.outputs = out, .shapes = shapes,
	};

	for (uint32_t i = 0; i < e.num_outputs; i++)
		out[i] = (struct nn_arg){ .data = to[i], .length = r.sizes[i] };
	return nn_plan_execute(plan, &e, &err);
}

static enum nn_status execute_right(const struct nn_plan *plan)
{
	enum nn_status status = execute(plan, r.out);

	for (uint32_t i = 0; !status && i < g.subgraph.num_outputs; i++)
		if (graph_differs(i, r.out[i], r.right[i]) >= 0)
			fail_msg("output %u of type %s is wrong: element %lld is %g, not %g", i,
				 nn_type_name(g.type), (long long)graph_differs(i, r.out[i], r.right[i]),
				 (double)graph_element(r.out[i], (uint32_t)graph_differs(i, r.out[i], r.right[i])),
				 (double)graph_element(r.right[i], (uint32_t)graph_differs(i, r.out[i], r.right[i])));
	return status;
}

static enum nn_status save_and_load(const struct nn_plan *plan)
{
	const struct nn_plan_options options = { .preference = 1 };
	struct nn_plan *loaded = NULL;
	struct nn_plan_image image, again;
	struct nn_error err;
	enum nn_status status = nn_plan_save(plan, &image, &err);

	if (status)
		return status;
	assert_true(image.data_size <= DATA_SIZE);
	nn_plan_image_data(&image, r.data);
	status = nn_plan_load(image.model, image.model_size, r.data, image.data_size, &options,
			      &loaded, &err);
	if (!status)
		status = execute_right(loaded);
	/* Save the loaded plan again if it was loaded from its serialised form. */
	if (!status && !nn_plan_model(loaded)) {
		status = nn_plan_save(loaded, &again, &err);
		nn_plan_image_free(&again);
	}
	nn_plan_free(loaded);
	nn_plan_image_free(&image);
	return status;
}

/*
 * Encodes, decodes, checks and compiles the model, executes the plan, saves and loads the plan, and
 * executes the loaded plan.
 */
static enum nn_status run(void)
{
	const struct nn_plan_options options = { .preference = 1 };
	struct nn_model *decoded = NULL;
	struct nn_plan *plan = NULL;
	struct nn_error err;
	void *wire = NULL;
	size_t size;
	enum nn_status status = nn_model_encode(&g.model, &wire, &size, &err);

	if (!status)
		status = nn_model_decode(wire, size, g.model.pools, g.model.num_pools, &decoded, &err);
	if (!status)
		status = nn_ops_check_model(decoded, NULL, &err);
	if (!status)
		status = nn_plan_create(decoded, &options, &plan, &err);
	if (!status)
		status = execute_right(plan);
	if (!status)
		status = save_and_load(plan);
	nn_plan_free(plan);
	nn_model_free(decoded);
	free(wire);
	return status;
}

static void set_right(void)
{
	const struct nn_plan_options options = { .kernels = "none" };
	struct nn_plan *plan;
	struct nn_error err;

	nn_operand_size(&g.operands[g.input], &r.input_size);
	r.input = malloc(r.input_size);
	fill(g.type, r.input, r.input_size, 2);
	for (uint32_t i = 0; i < g.subgraph.num_outputs; i++) {
		nn_operand_size(&g.operands[g.outputs[i]], &r.sizes[i]);
		r.out[i] = calloc(1, r.sizes[i]);
		r.right[i] = calloc(1, r.sizes[i]);
	}
	assert_int_equal(nn_plan_create(&g.model, &options, &plan, &err), NN_OK);
	assert_int_equal(execute(plan, r.right), NN_OK);
	nn_plan_free(plan);
}

/*
 * Calls run() while the first allocation fails, then while the second allocation fails, and so on,
 * until the run has fewer allocations.
 */
static unsigned int fail_each(bool lasting)
{
	unsigned int n = 0;

	do {
		failing_begin(FAILING_SELF, ++n, lasting);
		run();
	} while (failing_end(FAILING_SELF));
	return n - 1;
}

static void test_each_allocation(void **unused)
{
	const char *given = getenv("NN_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : FIRST_SEED;
	uint64_t end = clock_ns() + RUN_NS, seed = first;
	unsigned int sum = 0;

	(void)unused;
	g.values = malloc(VALUES_SIZE);
	r.data = aligned_alloc(4096, DATA_SIZE);
	assert_non_null(g.values);
	assert_non_null(r.data);
	for (; seed < first + GRAPHS && clock_ns() < end; seed++) {
		random_start(seed * 7919);
		make_graph();
		set_right();
		assert_int_equal(run(), NN_OK);
		sum += fail_each(false);
		sum += fail_each(true);
		assert_int_equal(run(), NN_OK);
		for (uint32_t i = 0; i < g.subgraph.num_outputs; i++) {
			free(r.out[i]);
			free(r.right[i]);
		}
		free(r.input);
	}
	print_message("%u allocations failed, in %llu graphs from seed %llu on\n", sum,
		      (unsigned long long)(seed - first), (unsigned long long)first);
	assert_true(sum > (seed - first) * 20);
	free(r.data);
	free(g.values);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_allocation) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
