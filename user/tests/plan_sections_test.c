/* SPDX-License-Identifier: MIT */
/*
 * Tests models that are divided into sections, because they cannot be compiled as a whole. A
 * section makes a plan for each shape of the section's inputs, up to a limit, even if several
 * threads use different shapes. A model that was saved and loaded behaves like the original model.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "model_samples.h"
#include "ops/op.h"
#include "plan/internal.h"
#include "plan/plan.h"
#include "plan/run/sections.h"
#include "tests/heap_blocks.h"

#define COLUMNS 24
#define UNITS 40
#define MAX_ROWS 64

enum { ADD = 0, FULLY_CONNECTED = 9, RELU = 19, RESHAPE = 22, TOPK_V2 = 90 };

static float weights[UNITS * COLUMNS], bias[UNITS];
static struct model_builder built;
static struct nn_pool pools[2] = {
	{ weights, sizeof(weights) },
	{ bias, sizeof(bias) },
};

/* true: another operation, with only a constant as input, computes the bias (no bias is negative) */
static bool computes_bias;
/* true: a RELU, which changes nothing, follows the product */
static bool has_temporary;

/*
 * Builds a product of weights and an input with an unknown number of rows. If `is_cut` is true, a
 * TOPK_V2 follows the product, and the k of TOPK_V2 is an input of the model.
 */
static void build(bool is_cut)
{
	uint32_t x, y, out, places, count, sums;

	for (uint32_t i = 0; i < UNITS * COLUMNS; i++)
		weights[i] = (float)(i * 37 % 101) / 64 - 0.75f;
	for (uint32_t i = 0; i < UNITS; i++)
		bias[i] = (float)(i * 53 % 29) / 16;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(0, COLUMNS));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, is_cut || has_temporary ? NN_TEMPORARY : NN_SUBGRAPH_OUTPUT,
		       MB_DIMS(0, UNITS));
	sums = mb_reference(&built, NN_TENSOR_FLOAT32, 1, 0, sizeof(bias), MB_DIMS(UNITS));
	if (computes_bias) {
		uint32_t read = sums;

		sums = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(UNITS));
		mb_operation(&built, RELU, MB_LIST(read), MB_LIST(sums));
	}
	mb_operation(&built, FULLY_CONNECTED,
		     MB_LIST(x, mb_reference(&built, NN_TENSOR_FLOAT32, 0, 0, sizeof(weights),
					     MB_DIMS(UNITS, COLUMNS)), sums, mb_int32(&built, 1)), MB_LIST(y));
	if (has_temporary) {
		out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0, UNITS));
		mb_operation(&built, RELU, MB_LIST(y), MB_LIST(out));
	}
	if (is_cut) {
		/*
		 * The k of TOPK_V2 is an argument of each execution, so the shape of TOPK_V2's
		 * output depends on a value.
		 */
		count = mb_operand(&built, NN_INT32, NN_SUBGRAPH_INPUT, MB_NONE);
		out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0, 0));
		places = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0, 0));
		mb_operation(&built, TOPK_V2, MB_LIST(y, count), MB_LIST(out, places));
	}
	built.model.pools = pools;
	built.model.num_pools = 2;
}

static struct nn_plan *make_plan(const char *kernels, uint64_t bytes)
{
	const struct nn_plan_options options = {
		.preference = 1, .kernels = kernels, .sections_bytes = bytes,
	};
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;

	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	return plan;
}

/* Executes a model on an input with `rows` rows, and checks the output if the execution succeeds. */
static enum nn_status execute_rows(const struct nn_plan *plan, uint32_t rows, uint64_t deadline_ns,
				   struct nn_error *err)
{
	float in[MAX_ROWS * COLUMNS], out[MAX_ROWS * UNITS];
	struct nn_arg input = { .data = in, .length = sizeof(in), .rank = 2,
				.dims = { rows, COLUMNS } };
	struct nn_arg output = { .data = out, .length = sizeof(out) };
	struct nn_output_shape shape;
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &input,
				  .outputs = &output, .shapes = &shape, .deadline_ns = deadline_ns };
	enum nn_status status;

	for (uint32_t i = 0; i < rows * COLUMNS; i++)
		in[i] = (float)(i * 29 % 67) / 32 - 1;
	status = nn_plan_execute(plan, &e, err);
	if (status)
		return status;
	assert_int_equal(shape.rank, 2);
	assert_int_equal(shape.dims[0], rows);
	assert_int_equal(shape.dims[1], UNITS);
	for (uint32_t i = 0; i < rows * UNITS; i++) {
		float sum = bias[i % UNITS];

		/* All inputs and weights, and the sums of their products, are exact in float32. */
		for (uint32_t k = 0; k < COLUMNS; k++)
			sum += in[i / UNITS * COLUMNS + k] * weights[i % UNITS * COLUMNS + k];
		assert_float_equal(out[i], sum > 0 ? sum : 0, 0);
	}
	return NN_OK;
}

static void check_rows(const struct nn_plan *plan, uint32_t rows)
{
	struct nn_error err = { "" };

	if (execute_rows(plan, rows, 0, &err))
		fail_msg("%s", err.message);
}

static struct nn_plan_memory memory_of(const struct nn_plan *plan)
{
	struct nn_plan_memory memory;

	nn_plan_memory(plan, &memory);
	return memory;
}

static uint64_t weights_of(const struct nn_plan *plan)
{
	return memory_of(plan).weights;
}

/*
 * The plans of all shapes share the packed weights; the packed weights are freed together with the
 * last plan.
 */
static void test_shared_weights(void **state)
{
	struct nn_plan *plan;
	uint64_t one;

	(void)state;
	build(false);
	plan = make_plan(NULL, 0);
	assert_int_equal(weights_of(plan), 0);
	check_rows(plan, 2);
	one = weights_of(plan);
	assert_true(one >= sizeof(weights));
	for (uint32_t rows = 2; rows < 2 + SECTION_PLANS; rows++)
		check_rows(plan, rows);
	assert_int_equal(weights_of(plan), one);
	for (uint32_t rows = 1; rows <= 3 * SECTION_PLANS; rows++)
		check_rows(plan, rows);
	/*
	 * The weights may be packed a second time, in a different form for inputs of a single row.
	 */
	assert_true(weights_of(plan) <= 2 * one);
	nn_plan_free(plan);
	plan = make_plan("none", 0);
	check_rows(plan, 5);
	assert_int_equal(weights_of(plan), 0);
	nn_plan_free(plan);
}

/*
 * Executes a model on an input with `rows` rows. Returns true if a plan for `rows` rows already
 * existed; otherwise the execution has made the plan.
 */
static bool is_there(const struct nn_plan *plan, uint32_t rows)
{
	uint64_t before = sections_made(plan);

	check_rows(plan, rows);
	return sections_made(plan) == before;
}

/*
 * A section caches plans up to limits of number and bytes, and frees the least recently used plan
 * first.
 */
static void test_bounds(void **state)
{
	struct nn_plan_memory memory;
	struct nn_plan *plan;

	(void)state;
	build(false);
	plan = make_plan(NULL, 0);
	for (uint32_t rows = 1; rows <= SECTION_PLANS; rows++)
		assert_false(is_there(plan, rows));
	for (uint32_t rows = 1; rows <= SECTION_PLANS; rows++)
		assert_true(is_there(plan, rows));
	/*
	 * The last execution has a shape whose plan was freed. Whether the section makes the freed
	 * plan again depends on how long making a plan takes.
	 */
	assert_false(is_there(plan, SECTION_PLANS + 1));
	assert_true(is_there(plan, 2));
	check_rows(plan, 1);
	nn_plan_free(plan);

	/* The memory of an execution grows to the size that the largest number of rows needs. */
	has_temporary = true;
	build(false);
	has_temporary = false;
	plan = make_plan(NULL, 0);
	check_rows(plan, 2);
	memory = memory_of(plan);
	check_rows(plan, MAX_ROWS);
	assert_true(memory_of(plan).execution >= memory.execution + (MAX_ROWS - 2) * UNITS * sizeof(float));
	memory = memory_of(plan);
	check_rows(plan, 3);
	assert_int_equal(memory_of(plan).execution, memory.execution);
	nn_plan_free(plan);
	build(false);

	/* The plan's byte limit has room for two and a half plans of a section. */
	plan = make_plan(NULL, 0);
	check_rows(plan, 2);
	memory = memory_of(plan);
	nn_plan_free(plan);
	plan = make_plan(NULL, memory.weights + 5 * memory.execution / 2);
	assert_false(is_there(plan, 2));
	assert_false(is_there(plan, 3));
	assert_true(is_there(plan, 2));
	assert_true(is_there(plan, 3));
	assert_false(is_there(plan, 4));
	assert_true(is_there(plan, 4));
	nn_plan_free(plan);

	/*
	 * If the byte limit is too small for any plan, the section keeps only the last used plan.
	 */
	plan = make_plan(NULL, 1);
	assert_false(is_there(plan, 2));
	for (uint32_t i = 0; i < 30; i++)
		assert_true(is_there(plan, 2));
	assert_false(is_there(plan, 3));
	assert_true(is_there(plan, 3));
	nn_plan_free(plan);
}

/*
 * If executions use two shapes in turn and the limit has room for one plan, the section interprets
 * one shape instead of making plans again.
 */
static void test_in_turn(void **state)
{
	struct nn_plan *plan;

	(void)state;
	build(false);
	plan = make_plan(NULL, 1);
	for (uint32_t i = 0; i < 400; i++)
		check_rows(plan, 2 + i % 2);
	assert_in_range(sections_made(plan), 2, 300);
	nn_plan_free(plan);
}

/*
 * A section makes a plan for each new shape, however often, if the plan replaces one that no
 * execution has used lately.
 */
static void test_new_shapes(void **state)
{
	struct nn_plan *plan;

	(void)state;
	build(false);
	plan = make_plan(NULL, 0);
	for (uint32_t i = 0; i < 70; i++) {
		for (uint32_t k = 0; k < 20; k++)
			check_rows(plan, 1);
		assert_false(is_there(plan, 2 + i % (SECTION_PLANS + 2)));
	}
	nn_plan_free(plan);
}

/* Number of reads of the clock after which the time jumps by 1000 s. */
static _Atomic(int) reads = INT_MAX;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (atomic_load(&reads) != INT_MAX && atomic_fetch_sub(&reads, 1) <= 0)
		now->tv_sec += 1000;
	return result;
}

/*
 * If the deadline of an execution passes while the section makes a plan, a later execution makes the
 * plan.
 */
static void test_deadline(void **state)
{
	struct nn_error err = { "" };
	unsigned int late = 0;

	(void)state;
	computes_bias = true;
	build(false);
	computes_bias = false;
	for (int i = 0; i < 30; i++) {
		struct nn_plan *plan = make_plan(NULL, 0);
		const uint64_t deadline_ns = clock_ns() + 500 * NS_PER_S;

		atomic_store(&reads, i);
		late += execute_rows(plan, 3, deadline_ns, &err) == NN_MISSED_DEADLINE_TRANSIENT;
		atomic_store(&reads, INT_MAX);
		check_rows(plan, 3);
		assert_int_equal(sections_made(plan), 1);
		nn_plan_free(plan);
	}
	assert_in_range(late, 4, 29);
}

static void *run_rows(void *arg)
{
	for (uint32_t i = 0; i < 60; i++)
		check_rows(arg, 1 + i * 7 % (SECTION_PLANS + 4));
	return NULL;
}

/* Several threads use more shapes than a section's limits of number or bytes allow. */
static void test_threads(void **state)
{
	struct nn_plan *plan;
	pthread_t threads[4];

	(void)state;
	build(false);
	for (uint64_t bytes = 0; bytes < 2; bytes++) {
		plan = make_plan(NULL, bytes);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, run_rows, plan), 0);
		for (uint32_t i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		nn_plan_free(plan);
	}
}

static const char *worst_kernels(void)
{
	const char *worst = NULL;

	for (uint32_t i = 0; nn_plan_kernels_at(i); i++)
		worst = nn_plan_kernels_at(i);
	return worst;
}

/*
 * A loaded model is divided into sections and compiled for the kernels of the saved model, whether
 * the model was saved before or after its first execution.
 */
static void test_saved(void **state)
{
	static const struct nn_plan_options options = { .preference = 1 };
	struct nn_plan_image image;
	struct nn_plan *plan, *loaded;
	struct nn_error err = { "" };
	void *data;

	(void)state;
	build(false);
	plan = make_plan(worst_kernels(), 0);
	check_rows(plan, 3);
	if (nn_plan_save(plan, &image, &err))
		fail_msg("%s", err.message);
	data = aligned_alloc(NN_PLAN_DATA_ALIGN, image.data_size);
	assert_non_null(data);
	nn_plan_image_data(&image, data);
	if (nn_plan_load(image.model, image.model_size, data, image.data_size, &options, &loaded,
			 &err))
		fail_msg("%s", err.message);
	check_rows(loaded, 3);
	check_rows(loaded, 4);
	assert_true(weights_of(loaded) > 0);
	assert_string_equal(sections_kernels(loaded), worst_kernels());
	nn_plan_free(loaded);
	nn_plan_image_free(&image);
	free(data);
	nn_plan_free(plan);
}

/*
 * An operation whose output's shape depends on a value is interpreted; the operations before this
 * operation are compiled.
 */
static void test_cut(void **state)
{
	static float in[4 * COLUMNS], out[4 * 8];
	static int32_t places[4 * 8], count = 5;
	struct nn_arg inputs[] = {
		{ .data = in, .length = sizeof(in), .rank = 2, .dims = { 4, COLUMNS } },
		{ .data = &count, .length = sizeof(count) },
	};
	struct nn_arg outputs[] = {
		{ .data = out, .length = sizeof(out) },
		{ .data = places, .length = sizeof(places) },
	};
	struct nn_output_shape shapes[2];
	struct nn_error err = { "" };
	struct nn_execution e = { .num_inputs = 2, .num_outputs = 2, .inputs = inputs,
				  .outputs = outputs, .shapes = shapes };
	struct nn_plan *plan;

	(void)state;
	build(true);
	plan = make_plan(NULL, 0);
	if (nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	assert_int_equal(shapes[0].dims[1], 5);
	/* The model's inputs are zeros, so the result of TOPK_V2 is the sorted bias. */
	for (uint32_t i = 0; i < 4 * 5; i++)
		assert_float_equal(out[i], bias[places[i]], 0);
	assert_true(weights_of(plan) > 0);
	count = 2;
	if (nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	assert_int_equal(shapes[1].dims[1], 2);
	nn_plan_free(plan);
}

/*
 * Builds a model with two sections: one before and one after the TOPK_V2, whose shape depends on a
 * value.
 */
static void build_two(void)
{
	uint32_t out, relu;

	build(true);
	out = built.outputs[0][0];
	built.operands[0][out].lifetime = NN_TEMPORARY;
	relu = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0, 0));
	mb_operation(&built, RELU, MB_LIST(out), MB_LIST(relu));
	/* In the model's list of outputs, `relu` replaces `out`. */
	built.outputs[0][0] = relu;
	built.subgraphs[0].num_outputs--;
}

static void run_two_once(const struct nn_plan *plan, uint32_t rows, int32_t count, struct nn_times *times)
{
	static const float in[8 * COLUMNS];
	float best[8 * UNITS];
	int32_t places[8 * UNITS];
	struct nn_arg inputs[] = {
		{ .data = (void *)in, .length = sizeof(in), .rank = 2, .dims = { rows, COLUMNS } },
		{ .data = &count, .length = sizeof(count) },
	};
	struct nn_arg outputs[2] = {
		{ .data = best, .length = sizeof(best) },
		{ .data = places, .length = sizeof(places) },
	};
	struct nn_error err = { "" };
	struct nn_execution e = { .num_inputs = 2, .num_outputs = 2, .inputs = inputs,
				  .outputs = outputs, .times = times };

	if (nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	/*
	 * The model's inputs are zeros, so each result is an element of the bias, which is not
	 * negative.
	 */
	for (uint32_t k = 0; k < rows * (uint32_t)count; k++)
		assert_float_equal(best[k], bias[places[k]], 0);
}

static void *run_two(void *arg)
{
	for (uint32_t i = 0; i < 100; i++)
		run_two_once(arg, 1 + i * 3 % 8, 1 + (int32_t)(i * 5 % 7), NULL);
	return NULL;
}

/* The times of operations have the operations' numbers in the model, not in their sections. */
static void test_times(void **state)
{
	struct nn_operation_time list[8];
	struct nn_times times = { .list = list, .room = 8 };
	struct nn_plan *plan;

	(void)state;
	build_two();
	plan = make_plan(NULL, 0);
	for (int run = 0; run < 2; run++) {
		times.count = 0;
		run_two_once(plan, 4, 3, &times);
		assert_int_equal(times.count, 3);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(list[i].index, i);
			assert_int_equal(list[i].type, built.subgraphs[0].operations[i].type);
			assert_true(list[i].begin_ns <= list[i].end_ns);
			assert_true(!i || list[i - 1].end_ns <= list[i].begin_ns);
		}
	}
	nn_plan_free(plan);
}

/*
 * If the byte limit is too small for any plan, a section keeps only the last used plan. Sections
 * free plans while other threads use the model.
 */
static void test_sections_evict(void **state)
{
	struct nn_plan *plan;
	pthread_t threads[4];

	(void)state;
	build_two();
	plan = make_plan(NULL, 1);
	for (uint32_t i = 0; i < 50; i++)
		run_two_once(plan, 3, 4, NULL);
	assert_int_equal(sections_made(plan), 2);
	run_two(plan);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_two, plan), 0);
	for (uint32_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	nn_plan_free(plan);
}

/*
 * The model computes a shape from constants, and the shape is also an output of the model.
 * Operations that depend on the computed shape are compiled separately from the operation that
 * computes the shape.
 */
static void test_shape_that_leaves(void **state)
{
	static const int32_t shape[] = { -1, UNITS / 2 }, none[2];
	static float in[4 * COLUMNS], out[4 * UNITS];
	static int32_t told[2];
	struct nn_arg input = { .data = in, .length = sizeof(in), .rank = 2,
				.dims = { 4, COLUMNS } };
	struct nn_arg outputs[] = {
		{ .data = out, .length = sizeof(out) }, { .data = told, .length = sizeof(told) },
	};
	struct nn_error err = { "" };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 2, .inputs = &input,
				  .outputs = outputs };
	uint32_t y, sum, flat, relu;
	struct nn_plan *plan;

	(void)state;
	build(false);
	y = built.outputs[0][0];
	built.operands[0][y].lifetime = NN_TEMPORARY;
	sum = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));
	mb_operation(&built, ADD,
		     MB_LIST(mb_constant(&built, NN_TENSOR_INT32, shape, sizeof(shape), MB_DIMS(2)),
			     mb_constant(&built, NN_TENSOR_INT32, none, sizeof(none), MB_DIMS(2)),
			     mb_int32(&built, 0)), MB_LIST(sum));
	flat = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(0, UNITS / 2));
	mb_operation(&built, RESHAPE, MB_LIST(y, sum), MB_LIST(flat));
	relu = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0, UNITS / 2));
	mb_operation(&built, RELU, MB_LIST(flat), MB_LIST(relu));
	built.outputs[0][0] = relu;
	built.outputs[0][1] = sum;
	built.subgraphs[0].num_outputs = 2;
	plan = make_plan(NULL, 0);
	for (int i = 0; i < 3; i++)
		if (nn_plan_execute(plan, &e, &err))
			fail_msg("%s", err.message);
	assert_memory_equal(told, shape, sizeof(shape));
	for (uint32_t i = 0; i < 4 * UNITS; i++)
		assert_float_equal(out[i], bias[i % UNITS], 0);
	assert_true(weights_of(plan) > 0);
	assert_int_equal(sections_made(plan), 2);
	nn_plan_free(plan);
}

/* A compiled plan reports an output's shape even if the output's memory is too small. */
static void test_small_output(void **state)
{
	static float in[8 * COLUMNS], out[UNITS];
	struct nn_arg input = { .data = in, .length = sizeof(in), .rank = 2,
				.dims = { 8, COLUMNS } };
	struct nn_arg output = { .data = out, .length = sizeof(out) };
	struct nn_output_shape shape;
	struct nn_error err = { "" };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &input,
				  .outputs = &output, .shapes = &shape };
	struct nn_plan *plan;

	(void)state;
	build(false);
	plan = make_plan(NULL, 0);
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OUTPUT_INSUFFICIENT_SIZE);
	assert_true(e.shapes_known);
	assert_int_equal(shape.dims[0], 8);
	assert_false(shape.sufficient);
	check_rows(plan, 8);
	nn_plan_free(plan);
}

/* ---- Where a model is divided ---- */

static uint32_t ints_of(enum nn_lifetime lifetime, uint32_t count)
{
	static const int32_t values[4];

	return lifetime == NN_CONSTANT_COPY ?
	       mb_constant(&built, NN_TENSOR_INT32, values, count * 4, MB_DIMS(count)) :
	       mb_operand(&built, NN_TENSOR_INT32, lifetime, MB_DIMS(count));
}

static uint32_t shape_of(uint32_t rank, const uint32_t *dims)
{
	return mb_operand(&built, NN_TENSOR_INT32, NN_TEMPORARY, rank, dims);
}

/*
 * Adds the operation that `letter` stands for in the table of test_division(); returns the
 * operation's output, which is a shape.
 */
static uint32_t add_shape(char letter)
{
	static const float zeros[4];
	uint32_t shape, first, floats, none;

	if (letter == 'c' || letter == 'i') {
		first = ints_of(letter == 'c' ? NN_CONSTANT_COPY : NN_SUBGRAPH_INPUT, 2);
		shape = shape_of(MB_DIMS(2));
		mb_operation(&built, ADD,
			     MB_LIST(first, ints_of(NN_CONSTANT_COPY, 2), mb_int32(&built, 0)),
			     MB_LIST(shape));
		return shape;
	}
	if (letter == 's') {
		shape = shape_of(MB_DIMS(2));
		mb_operation(&built, NN_OP_SPLIT,
			     MB_LIST(ints_of(NN_CONSTANT_COPY, 4), mb_int32(&built, 0),
				     mb_int32(&built, 2)), MB_LIST(shape_of(MB_DIMS(2)), shape));
		return shape;
	}
	floats = mb_constant(&built, NN_TENSOR_FLOAT32, zeros, sizeof(zeros), MB_DIMS(2, 2));
	if (letter == 'l') {
		none = mb_operand(&built, NN_TENSOR_FLOAT32, NN_NO_VALUE, MB_DIMS(1));
		shape = shape_of(MB_DIMS(2));
		mb_operation(&built, NN_OP_LSH_PROJECTION,
			     MB_LIST(floats, floats, none, mb_int32(&built, 3)), MB_LIST(shape));
	} else {
		shape = shape_of(MB_DIMS(2, 1));
		mb_operation(&built, NN_OP_RANDOM_MULTINOMIAL,
			     MB_LIST(floats, mb_int32(&built, 1), ints_of(NN_CONSTANT_COPY, 2)),
			     MB_LIST(shape));
	}
	return shape;
}

/*
 * Adds the operation that `letter` stands for in the table of test_division(); returns the
 * operation's output, which is a float tensor.
 */
static uint32_t add_tensor(char letter, uint32_t x, uint32_t shape)
{
	uint32_t out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(0, 0)), more;

	if (letter == 'A') {
		mb_operation(&built, RELU, MB_LIST(x), MB_LIST(out));
	} else if (letter == 'R') {
		mb_operation(&built, RESHAPE, MB_LIST(x, shape), MB_LIST(out));
	} else if (letter == 'N') {
		mb_operation(&built, RESHAPE, MB_LIST(x, ints_of(NN_SUBGRAPH_INPUT, 2)),
			     MB_LIST(out));
	} else if (letter == 'T') {
		more = shape_of(MB_DIMS(0, 0));
		mb_operation(&built, TOPK_V2,
			     MB_LIST(x, mb_operand(&built, NN_INT32, NN_SUBGRAPH_INPUT, MB_NONE)),
			     MB_LIST(out, more));
	} else if (letter == 'G') {
		mb_operation(&built, NN_OP_GATHER,
			     MB_LIST(x, mb_int32(&built, 0), ints_of(NN_SUBGRAPH_INPUT, 2)),
			     MB_LIST(out));
	} else if (letter == 'E') {
		mb_operation(&built, NN_OP_EMBEDDING_LOOKUP,
			     MB_LIST(ints_of(NN_SUBGRAPH_INPUT, 2), x), MB_LIST(out));
	} else {
		more = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_TEMPORARY, MB_DIMS(2));
		built.operands[0][more].scale = 1;
		mb_operation(&built, NN_OP_HASHTABLE_LOOKUP,
			     MB_LIST(ints_of(NN_SUBGRAPH_INPUT, 2), ints_of(NN_SUBGRAPH_INPUT, 2),
				     x), MB_LIST(out, more));
	}
	return out;
}

/*
 * In `sections`, a digit is a section with this number of operations, and "-" is an operation
 * outside of sections.
 */
static void test_division(void **state)
{
	static const struct {
		const char *operations;
		const char *sections;
	} table[] = {
		{ "A", "1" }, { "AAA", "3" },
		/*
		 * The section that uses a shape also computes the shape from constants. The letter
		 * "l" omits an input, and the shape that "s" computes is a second output of the
		 * model.
		 */
		{ "cR", "2" }, { "sR", "2" }, { "AcAR", "4" }, { "lR", "2" }, { "cRcR", "4" },
		/*
		 * The next models have a shape that is an input, is random, or is computed from an
		 * input.
		 */
		{ "iR", "1-" }, { "AiRA", "2-1" }, { "mR", "1-" }, { "N", "-" }, { "ANA", "1-1" },
		/* In the next models, an operation of another section computes the shape. */
		{ "cNR", "1--" }, { "cTRA", "1--1" },
		{ "T", "-" }, { "ATA", "1-1" },
		/* In the next models, values of inputs affect addresses, but no shape. */
		{ "AGA", "3" }, { "AEA", "3" }, { "AHA", "3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t x, shape = 0, left = 0;
		char text[16] = "", *at = text;
		struct nn_plan *plan;

		mb_init(&built);
		x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(0, 0));
		for (const char *p = table[i].operations; *p; p++)
			if (*p >= 'a')
				shape = add_shape(*p);
			else
				x = add_tensor(*p, x, shape);
		built.operands[0][x].lifetime = NN_SUBGRAPH_OUTPUT;
		built.outputs[0][0] = x;
		built.subgraphs[0].num_outputs = 1;
		plan = make_plan(NULL, 0);
		for (uint32_t k = 0; k < built.subgraphs[0].num_operations; k++) {
			const struct section *s = plan->graphs[0].steps[k].section;

			if (s) {
				left = section_length(s);
				*at++ = (char)('0' + left);
			} else if (!left) {
				*at++ = '-';
			}
			left -= left > 0;
		}
		if (strcmp(text, table[i].sections))
			fail_msg("%s is divided into %s, not %s", table[i].operations, text,
				 table[i].sections);
		nn_plan_free(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_weights),
		heap_unit_test(test_bounds),
		heap_unit_test(test_in_turn),
		heap_unit_test(test_new_shapes),
		heap_unit_test(test_deadline),
		heap_unit_test(test_times),
		cmocka_unit_test(test_threads),
		heap_unit_test(test_sections_evict),
		heap_unit_test(test_saved),
		heap_unit_test(test_cut),
		heap_unit_test(test_shape_that_leaves),
		heap_unit_test(test_small_output),
		heap_unit_test(test_division),
	};

	return cmocka_run_group_tests_name("plan_sections", tests, NULL, NULL);
}
