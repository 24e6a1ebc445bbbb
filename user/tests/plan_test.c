/* SPDX-License-Identifier: MIT */
/*
 * Tests how plans handle arguments, shapes that are known only at run time, outputs that are too
 * small, unaligned memory, control flow, and deadlines.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "base/clock.h"
#include "model_samples.h"
#include "ops/op.h"
#include "plan/compiled.h"
#include "tests/between.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

enum {
	ADD = 0,
	AVERAGE_POOL_2D = 1,
	CONCATENATION = 2,
	CONV_2D = 3,
	DEQUANTIZE = 6,
	LSH_PROJECTION = 15,
	MAX_POOL_2D = 17,
	MUL = 18,
	RESHAPE = 22,
	PAD = 32,
	CAST = 45,
	GATHER = 51,
	LESS = 58,
	MAXIMUM = 65,
	MINIMUM = 66,
	PRELU = 71,
	QUANTIZE = 72,
	SLICE = 86,
};

static struct model_builder built;

static uint64_t from_now(uint64_t ns)
{
	return clock_ns() + ns;
}

static struct nn_plan *make_plan(void)
{
	static const struct nn_plan_options options;
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;

	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	return plan;
}

/* An execution with memory for up to four inputs and outputs. */
struct call {
	struct nn_execution e;
	struct nn_arg inputs[4];
	struct nn_arg outputs[4];
	struct nn_output_shape shapes[4];
	struct nn_error err;
};

static void call_init(struct call *c)
{
	*c = (struct call){
		.e = { .inputs = c->inputs, .outputs = c->outputs, .shapes = c->shapes },
	};
	memset(c->shapes, 0x5a, sizeof(c->shapes));
}

static void add_input(struct call *c, const void *data, uint64_t length)
{
	c->inputs[c->e.num_inputs++] = (struct nn_arg){ .data = (void *)data, .length = length };
}

static void add_output(struct call *c, void *data, uint64_t length)
{
	c->outputs[c->e.num_outputs++] = (struct nn_arg){ .data = data, .length = length };
}

static void assert_runs(const struct nn_plan *plan, struct call *c)
{
	if (nn_plan_execute(plan, &c->e, &c->err))
		fail_msg("%s", c->err.message);
	assert_true(c->e.shapes_known);
}

static void assert_fails(const struct nn_plan *plan, struct call *c, enum nn_status expected,
			 const char *message)
{
	enum nn_status status;

	c->err.message[0] = '\0';
	status = nn_plan_execute(plan, &c->e, &c->err);
	if (status != expected || !strstr(c->err.message, message))
		fail_msg("%s: \"%s\", not \"%s\"", nn_status_name(status), c->err.message,
			 message);
	assert_int_equal(c->e.shapes_known, expected == NN_OUTPUT_INSUFFICIENT_SIZE);
}

static const float four[] = { 1, 2, 3, 4 };

/* ---- times of operations ---- */

/*
 * Builds (x + 0) * x of four float16 or float32 numbers; a dimension of 0 is unknown to the model.
 */
static void build_sum_and_product(int32_t type, uint32_t rank, const uint32_t *dims)
{
	uint32_t in, sum, out;

	mb_init(&built);
	in = mb_operand(&built, type, NN_SUBGRAPH_INPUT, rank, dims);
	sum = mb_operand(&built, type, NN_TEMPORARY, rank, dims);
	out = mb_operand(&built, type, NN_SUBGRAPH_OUTPUT, rank, dims);
	mb_operation(&built, ADD, MB_LIST(in, in, mb_int32(&built, 0)), MB_LIST(sum));
	mb_operation(&built, MUL, MB_LIST(sum, in, mb_int32(&built, 0)), MB_LIST(out));
}

static void build_if(int32_t type, uint32_t rank, const uint32_t *dims)
{
	(void)type;
	(void)rank;
	(void)dims;
	sample_if(&built);
}

/*
 * The test cases list the operations whose times an execution must report. If the compiler rewrites
 * a model, the expected indices of operations are indices in the rewritten model.
 */
static const struct {
	const char *name;
	void (*build)(int32_t type, uint32_t rank, const uint32_t *dims);
	int32_t type;
	uint32_t dim;
	const char *kernels;
	uint32_t room, count;
	struct { uint32_t index; int32_t type; } told[4];
} timed[] = {
	{ "compiled", build_sum_and_product, NN_TENSOR_FLOAT32, 4, NULL, 8, 2, { { 0, ADD }, { 1, MUL } } },
	{ "interpreted", build_sum_and_product, NN_TENSOR_FLOAT32, 4, "none", 8, 2, { { 0, ADD }, { 1, MUL } } },
	{ "open", build_sum_and_product, NN_TENSOR_FLOAT32, 0, NULL, 8, 2, { { 0, ADD }, { 1, MUL } } },
	{ "no room", build_sum_and_product, NN_TENSOR_FLOAT32, 4, NULL, 1, 1, { { 0, ADD } } },
	{ "rewritten", build_sum_and_product, NN_TENSOR_FLOAT16, 4, NULL, 8, 4,
	  { { NN_OTHER_MODEL, CAST }, { NN_OTHER_MODEL | 1, ADD }, { NN_OTHER_MODEL | 2, MUL },
	    { NN_OTHER_MODEL | 3, CAST } } },
	{ "open and rewritten", build_sum_and_product, NN_TENSOR_FLOAT16, 0, NULL, 8, 1,
	  { { 0, NN_OPERATIONS } } },
	{ "a branch", build_if, 0, 0, NULL, 8, 1, { { 0, NN_OP_IF } } },
};

static void test_times(void **state)
{
	static const uint8_t yes = 1;

	(void)state;
	for (size_t i = 0; i < LENGTH(timed); i++) {
		const struct nn_plan_options options = { .kernels = timed[i].kernels };
		struct nn_operation_time list[8];
		struct nn_times times = { list, timed[i].room, 0 };
		uint64_t last = clock_ns();
		struct nn_plan *plan;
		struct nn_error err;
		struct call c;
		float out[4];

		timed[i].build(timed[i].type, 1, &timed[i].dim);
		assert_int_equal(nn_model_check(&built.model, &err), NN_OK);
		assert_int_equal(nn_ops_check_model(&built.model, NULL, &err), NN_OK);
		assert_int_equal(nn_plan_create(&built.model, &options, &plan, &err), NN_OK);
		call_init(&c);
		if (timed[i].build == build_if)
			add_input(&c, &yes, 1);
		add_input(&c, four, timed[i].type == NN_TENSOR_FLOAT16 || timed[i].build == build_if ? 8 : 16);
		if (timed[i].build == build_if)
			add_input(&c, four, 8);
		c.inputs[0].rank = !timed[i].dim && timed[i].build != build_if;
		c.inputs[0].dims[0] = 4;
		add_output(&c, out, sizeof(out));
		c.e.times = &times;
		assert_runs(plan, &c);
		if (times.count != timed[i].count)
			fail_msg("%s: %u operations, not %u", timed[i].name, times.count, timed[i].count);
		for (uint32_t k = 0; k < times.count; k++) {
			if (list[k].index != timed[i].told[k].index || list[k].type != timed[i].told[k].type ||
			    list[k].begin_ns < last || list[k].end_ns < list[k].begin_ns)
				fail_msg("%s: operation %u: %x, %d", timed[i].name, k, list[k].index,
					 list[k].type);
			last = list[k].end_ns;
		}
		assert_true(last <= clock_ns());
		/* An execution stores no times if the caller passes no list for times. */
		c.e.times = NULL;
		assert_runs(plan, &c);
		assert_int_equal(times.count, timed[i].count);
		nn_plan_free(plan);
	}
}

/*
 * The model computes x + 2^-12 - 1 for x = 1. In float16 the sum x + 2^-12 would be 1, and the
 * result would be 0.
 */
static void test_fp16_is_computed_in_float(void **state)
{
	static const uint16_t one = 0x3c00, small = 0x0c00, minus_one = 0xbc00;
	struct nn_plan_memory memory;
	uint32_t in, between, out;
	uint16_t result = 0;
	struct nn_plan *plan;
	struct call c;

	(void)state;
	mb_init(&built);
	in = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	between = mb_operand(&built, NN_TENSOR_FLOAT16, NN_TEMPORARY, MB_DIMS(1));
	out = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	/* The model must be computed in float32 although a float16 scalar is omitted. */
	mb_operand(&built, NN_FLOAT16, NN_NO_VALUE, 0, NULL);
	mb_operation(&built, ADD, MB_LIST(in, mb_constant(&built, NN_TENSOR_FLOAT16, &small, 2,
							  MB_DIMS(1)), mb_int32(&built, 0)),
		     MB_LIST(between));
	mb_operation(&built, ADD,
		     MB_LIST(between, mb_constant(&built, NN_TENSOR_FLOAT16, &minus_one, 2,
						  MB_DIMS(1)), mb_int32(&built, 0)),
		     MB_LIST(out));
	plan = make_plan();
	nn_plan_memory(plan, &memory);
	assert_true(memory.execution > 0);
	call_init(&c);
	add_input(&c, &one, sizeof(one));
	add_output(&c, &result, sizeof(result));
	assert_runs(plan, &c);
	assert_int_equal(result, small);
	nn_plan_free(plan);
}

/* A CAST to float16 rounds even if its result is not an output of the model. */
static void test_fp16_is_rounded_by_cast(void **state)
{
	static const float x = 1 + 0x1p-12f;
	uint32_t in, half, between, out;
	float results[2] = { 0 };
	uint16_t fp16_result = 0;
	struct nn_plan *plan;
	struct call c;

	(void)state;
	mb_init(&built);
	in = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	half = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&built, CAST, MB_LIST(in), MB_LIST(half));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&built, CAST, MB_LIST(half), MB_LIST(out));
	between = mb_operand(&built, NN_TENSOR_FLOAT16, NN_TEMPORARY, MB_DIMS(1));
	mb_operation(&built, CAST, MB_LIST(in), MB_LIST(between));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&built, CAST, MB_LIST(between), MB_LIST(out));
	plan = make_plan();
	assert_non_null(plan->compiled);
	call_init(&c);
	add_input(&c, &x, sizeof(x));
	add_output(&c, &fp16_result, sizeof(fp16_result));
	add_output(&c, &results[0], sizeof(results[0]));
	add_output(&c, &results[1], sizeof(results[1]));
	assert_runs(plan, &c);
	assert_int_equal(fp16_result, 0x3c00);
	assert_true(results[0] == 1 && results[1] == 1);
	nn_plan_free(plan);
}

/* LSH_PROJECTION hashes the bytes of its input, so the input must not be converted to float32. */
static void test_fp16_is_hashed_as_it_is(void **state)
{
	static const uint16_t hash[] = { 0x3000, 0xb800, 0x3c00, 0x4500, 0xc500, 0x2c00, 0x4200,
					 0xbc00, 0x3555, 0x4900, 0x3266, 0xc100, 0x4c00, 0xb266,
					 0x3a00, 0xc900 };
	static const uint16_t items[] = { 0x3c00, 0x4000 };
	struct nn_plan_options options = { .kernels = "none" };
	uint32_t in, hashes, none, out;
	struct nn_error err = { "" };
	struct nn_plan *plan;
	int32_t bits[2];

	(void)state;
	mb_init(&built);
	hashes = mb_constant(&built, NN_TENSOR_FLOAT16, hash, sizeof(hash), MB_DIMS(1, 16));
	in = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	none = mb_operand(&built, NN_TENSOR_FLOAT16, NN_NO_VALUE, MB_DIMS(2));
	out = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&built, LSH_PROJECTION, MB_LIST(hashes, in, none, mb_int32(&built, 3)),
		     MB_LIST(out));
	for (size_t i = 0; i < LENGTH(bits); i++) {
		struct call c;

		assert_int_equal(nn_plan_create(&built.model, &options, &plan, &err), NN_OK);
		call_init(&c);
		add_input(&c, items, sizeof(items));
		add_output(&c, &bits[i], sizeof(bits[i]));
		assert_runs(plan, &c);
		nn_plan_free(plan);
		options.kernels = NULL;
	}
	assert_int_equal(bits[0], bits[1]);
}

/*
 * Executes the built float model with the interpreter and as a compiled plan, and returns the
 * results of both executions.
 */
static void run_both_ways(const float *x, uint32_t x_count, float results[2][4])
{
	struct nn_plan_options options = { .kernels = "none" };
	struct nn_error err = { "" };

	for (size_t i = 0; i < 2; i++) {
		struct nn_plan *plan = NULL;
		struct call c;

		if (nn_ops_check_model(&built.model, NULL, &err) ||
		    nn_plan_create(&built.model, &options, &plan, &err))
			fail_msg("%s", err.message);
		call_init(&c);
		add_input(&c, x, x_count * sizeof(*x));
		add_output(&c, results[i], sizeof(results[i]));
		assert_runs(plan, &c);
		nn_plan_free(plan);
		options.kernels = NULL;
	}
}

/* An operation without an activation does not clamp infinity. */
static void test_infinity(void **state)
{
	static const int32_t passing[] = { MAXIMUM, MINIMUM, PRELU };
	static const float x[] = { INFINITY, -INFINITY, 1, -1 };
	static const float one[] = { 1, 1, 1, 1 }, low[] = { INFINITY, -FLT_MAX, 1, -1 };
	static const float expected[][4] = {
		{ INFINITY, 1, 1, 1 }, { 1, -INFINITY, 1, -1 }, { INFINITY, -INFINITY, 1, -1 },
	};
	float results[2][4];
	uint32_t in, out;

	(void)state;
	for (size_t i = 0; i < LENGTH(passing); i++) {
		mb_init(&built);
		in = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(4));
		out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
		mb_operation(&built, passing[i],
			     MB_LIST(in, mb_constant(&built, NN_TENSOR_FLOAT32, one, sizeof(one),
						     MB_DIMS(4))), MB_LIST(out));
		run_both_ways(x, 4, results);
		assert_memory_equal(results[0], expected[i], sizeof(expected[i]));
		assert_memory_equal(results[1], expected[i], sizeof(expected[i]));
	}
	mb_init(&built);
	in = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 1, 1, 4));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 1, 1, 4));
	mb_operation(&built, MAX_POOL_2D, MB_LIST(in, mb_int32(&built, 2), mb_int32(&built, 1),
						  mb_int32(&built, 1), mb_int32(&built, 1),
						  mb_int32(&built, 1), mb_int32(&built, 0)),
		     MB_LIST(out));
	run_both_ways(low, 4, results);
	assert_true(isinf(results[0][0]) && isinf(results[1][0]));
	assert_memory_equal(results[0], results[1], sizeof(results[0]));
}

/* Tests an average whose window has a sum of more than 32 bits. */
static void test_large_average(void **state)
{
	enum { SIDE = 4096 };
	uint8_t *x = malloc(SIDE * SIDE), result = 0;
	uint32_t in, out, side;
	struct nn_plan *plan;
	struct call c;

	(void)state;
	assert_non_null(x);
	memset(x, 255, SIDE * SIDE);
	mb_init(&built);
	side = mb_int32(&built, SIDE);
	in = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT,
			MB_DIMS(1, SIDE, SIDE, 1));
	out = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 1, 1, 1));
	built.operands[0][in].scale = built.operands[0][out].scale = 1;
	mb_operation(&built, AVERAGE_POOL_2D, MB_LIST(in, mb_int32(&built, 2), mb_int32(&built, 1),
						      mb_int32(&built, 1), side, side,
						      mb_int32(&built, 0)), MB_LIST(out));
	plan = make_plan();
	call_init(&c);
	add_input(&c, x, SIDE * SIDE);
	add_output(&c, &result, 1);
	assert_runs(plan, &c);
	assert_int_equal(result, 255);
	nn_plan_free(plan);
	free(x);
}

static void test_add(void **state)
{
	static const float expected[] = { 2, 4, 4, 6 };
	struct nn_plan *plan;
	struct call c;
	float out[4];

	(void)state;
	sample_add(&built);
	plan = make_plan();
	call_init(&c);
	add_input(&c, four, sizeof(four));
	add_output(&c, out, sizeof(out));
	assert_runs(plan, &c);
	assert_memory_equal(out, expected, sizeof(out));
	assert_true(c.shapes[0].sufficient);
	assert_int_equal(c.shapes[0].rank, 2);
	assert_int_equal(c.shapes[0].dims[0], 2);
	assert_int_equal(c.shapes[0].dims[1], 2);
	nn_plan_free(plan);
	nn_plan_free(NULL);
}

/* Each X() has a name, a statement that breaks the call, and the expected status and message. */
#define BROKEN_CALLS(X) \
X(few_inputs, c->e.num_inputs = 0, NN_INVALID_ARGUMENT, "0 inputs and 1 outputs, but") \
X(many_outputs, c->e.num_outputs = 2, NN_INVALID_ARGUMENT, "1 inputs and 2 outputs") \
X(input_short, c->inputs[0].length = 15, NN_INVALID_ARGUMENT, "input 0: 15 bytes, needs 16") \
X(input_no_memory, c->inputs[0].data = NULL, NN_INVALID_ARGUMENT, "input 0: its memory is NULL") \
X(input_rank, c->inputs[0].rank = 1, NN_INVALID_ARGUMENT, "input 0: rank 1, must be 2") \
X(input_rank_beyond, c->inputs[0].rank = 17, NN_INVALID_ARGUMENT, "input 0: rank 17, must be 2") \
X(input_dims, set_dims(&c->inputs[0], 2, 3), NN_INVALID_ARGUMENT, \
  "input 0: dimension 1 is 3, must be 2") \
X(input_dims_zero, set_dims(&c->inputs[0], 2, 0), NN_INVALID_ARGUMENT, \
  "input 0: dimension 1 must not be 0") \
X(input_omitted_with_length, c->inputs[0].omitted = true, NN_INVALID_ARGUMENT, \
  "input 0: omitted, but has 16 bytes") \
X(input_omitted_with_rank, (omit(&c->inputs[0]), c->inputs[0].rank = 1), NN_INVALID_ARGUMENT, \
  "input 0: omitted, but has 0 bytes and rank 1") \
X(input_omitted, omit(&c->inputs[0]), NN_GENERAL_FAILURE, "subgraph 0, operation 0: ADD: ") \
X(output_dims, set_dims(&c->outputs[0], 0, 3), NN_INVALID_ARGUMENT, \
  "output 0: dimension 1 is 3, must be 2") \
X(output_rank, c->outputs[0].rank = 3, NN_INVALID_ARGUMENT, "output 0: rank 3, must be 2") \
X(output_no_memory, c->outputs[0].data = NULL, NN_INVALID_ARGUMENT, "output 0: its memory is NULL") \
X(output_omitted, omit(&c->outputs[0]), NN_GENERAL_FAILURE, "subgraph 0, operation 0: ADD: ") \
X(output_short, c->outputs[0].length = 15, NN_OUTPUT_INSUFFICIENT_SIZE, \
  "output 0: 15 bytes, needs 16") \
X(deadline_past, c->e.deadline_ns = 1, NN_MISSED_DEADLINE_PERSISTENT, "deadline")

static void set_dims(struct nn_arg *arg, uint32_t first, uint32_t second)
{
	arg->rank = 2;
	arg->dims[0] = first;
	arg->dims[1] = second;
}

static void omit(struct nn_arg *arg)
{
	*arg = (struct nn_arg){ .omitted = true };
}

#define CALL_FUNCTION(name, statement, status, message) \
static void break_##name(struct call *c) { statement; }
BROKEN_CALLS(CALL_FUNCTION)

#define CALL_ENTRY(name, statement, status, message) { #name, break_##name, status, message },
static const struct {
	const char *name;
	void (*spoil)(struct call *c);
	enum nn_status status;
	const char *message;
} broken_calls[] = { BROKEN_CALLS(CALL_ENTRY) };

static void test_broken_calls(void **state)
{
	struct nn_plan *plan;
	struct call c;
	float out[4];
	size_t i;

	(void)state;
	sample_add(&built);
	plan = make_plan();
	for (i = 0; i < LENGTH(broken_calls); i++) {
		print_message("             %s\n", broken_calls[i].name);
		call_init(&c);
		add_input(&c, four, sizeof(four));
		add_output(&c, out, sizeof(out));
		broken_calls[i].spoil(&c);
		assert_fails(plan, &c, broken_calls[i].status, broken_calls[i].message);
	}
	nn_plan_free(plan);
}

/* Arguments and constants may lie at any alignment. */
static void test_unaligned(void **state)
{
	static const float expected[] = { 3, 5, 5, 7 };
	static uint8_t pool[16], in[17], out[17];
	const float two_three[] = { 2, 3 };
	struct nn_plan *plan;
	struct call c;

	(void)state;
	sample_add(&built);
	memcpy(pool + 3, two_three, sizeof(two_three));
	built.model.num_pools = 1;
	built.pools[0] = (struct nn_pool){ pool, sizeof(pool) };
	built.operands[0][1].lifetime = NN_CONSTANT_REFERENCE;
	built.operands[0][1].location.offset = 3;
	plan = make_plan();
	memcpy(in + 1, four, sizeof(four));
	call_init(&c);
	add_input(&c, in + 1, sizeof(four));
	add_output(&c, out + 1, sizeof(four));
	assert_runs(plan, &c);
	assert_memory_equal(out + 1, expected, sizeof(expected));
	assert_int_equal(out[0], 0);
	nn_plan_free(plan);
}

static void test_not_executable(void **state)
{
	static const struct nn_plan_options none;
	const struct nn_plan_options late = { .deadline_ns = 1 }, odd = { .preference = 3 };
	struct nn_error err = { "" };
	struct nn_plan *plan;

	(void)state;
	sample_everything(&built);
	assert_int_equal(nn_plan_create(&built.model, &none, &plan, &err), NN_INVALID_ARGUMENT);
	assert_null(plan);
	assert_string_equal(err.message,
			    "subgraph 0, operation 2 (operation 196609): not supported");
	assert_int_equal(nn_plan_create(&built.model, &late, &plan, NULL),
			 NN_MISSED_DEADLINE_PERSISTENT);
	assert_int_equal(nn_plan_create(&built.model, &odd, &plan, NULL), NN_INVALID_ARGUMENT);

	sample_add(&built);
	built.model.num_pools = 1;
	built.pools[0].size = 8;
	built.operands[0][1].lifetime = NN_CONSTANT_REFERENCE;
	err.message[0] = '\0';
	assert_int_equal(nn_plan_create(&built.model, &none, &plan, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "subgraph 0, operand 1: its memory is not mapped");
}

static void test_shape_from_values(void **state)
{
	static const float six[] = { 1, 2, 3, 4, 5, 6 };
	const int32_t shape[] = { 3, 2 }, wrong[] = { 4, 2 };
	struct nn_plan *plan;
	struct call c;
	float out[6];

	(void)state;
	sample_reshape(&built);
	plan = make_plan();
	call_init(&c);
	add_input(&c, six, sizeof(six));
	add_input(&c, shape, sizeof(shape));
	add_output(&c, out, sizeof(out));
	assert_runs(plan, &c);
	assert_memory_equal(out, six, sizeof(six));
	assert_int_equal(c.shapes[0].dims[0], 3);
	assert_int_equal(c.shapes[0].dims[1], 2);

	/*
	 * If the output's memory is too small, the plan reports the output's shape, and does not
	 * write beyond the memory.
	 */
	out[5] = 77;
	c.outputs[0].length = sizeof(out) - 4;
	assert_fails(plan, &c, NN_OUTPUT_INSUFFICIENT_SIZE, "output 0: 20 bytes, needs 24");
	assert_false(c.shapes[0].sufficient);
	assert_int_equal(c.shapes[0].rank, 2);
	assert_int_equal(c.shapes[0].dims[0], 3);
	assert_true(out[5] == 77);

	/* An output argument with a length of 0 is too small. */
	c.outputs[0] = (struct nn_arg){ .data = NULL };
	assert_fails(plan, &c, NN_OUTPUT_INSUFFICIENT_SIZE, "output 0: 0 bytes, needs 24");

	/*
	 * An output's argument may declare dimensions that the model does not know; wrong declared
	 * dimensions are an error.
	 */
	c.outputs[0] = (struct nn_arg){ .data = out, .length = sizeof(out), .rank = 2,
					.dims = { 0, 2 } };
	assert_runs(plan, &c);
	c.outputs[0].dims[1] = 3;
	assert_fails(plan, &c, NN_GENERAL_FAILURE, "subgraph 0, operation 0: RESHAPE: ");
	c.inputs[1].data = (void *)wrong;
	assert_fails(plan, &c, NN_GENERAL_FAILURE, "subgraph 0, operation 0: RESHAPE: ");
	nn_plan_free(plan);
}

/*
 * A plan reads values that determine addresses only once, so a change of these values by another
 * thread has no effect.
 */
static atomic_bool stop_changing;

static void *change_shape(void *data)
{
	_Atomic(int32_t) *shape = data;

	while (!atomic_load(&stop_changing)) {
		atomic_store(shape, 600);
		atomic_store(shape, 3);
	}
	return NULL;
}

static void test_changing_shape(void **state)
{
	static const float six[] = { 1, 2, 3, 4, 5, 6 };
	static int32_t shape[] = { 3, 2 };
	struct nn_plan *plan;
	pthread_t thread;
	struct call c;
	float out[6];
	int i;

	(void)state;
	sample_reshape(&built);
	plan = make_plan();
	atomic_store(&stop_changing, false);
	assert_int_equal(pthread_create(&thread, NULL, change_shape, shape), 0);
	for (i = 0; i < 2000; i++) {
		enum nn_status status;

		call_init(&c);
		add_input(&c, six, sizeof(six));
		add_input(&c, shape, sizeof(shape));
		add_output(&c, out, sizeof(out));
		status = nn_plan_execute(plan, &c.e, &c.err);
		assert_true(status == NN_OK || status == NN_GENERAL_FAILURE);
		if (!status)
			assert_int_equal(c.shapes[0].dims[0], 3);
	}
	atomic_store(&stop_changing, true);
	pthread_join(thread, NULL);
	nn_plan_free(plan);
}

/* Builds sum = x + y and product = sum * x; sum and product are outputs of the model. */
static void build_two_outputs(void)
{
	uint32_t x, y, none, sum, product;

	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(0));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_NONE);
	none = mb_int32(&built, 0);
	sum = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_NONE);
	product = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0));
	mb_operation(&built, ADD, MB_LIST(x, y, none), MB_LIST(sum));
	mb_operation(&built, MUL, MB_LIST(sum, x, none), MB_LIST(product));
}

static void two_outputs_call(struct call *c, float *sum, float *product)
{
	uint32_t i;

	call_init(c);
	add_input(c, four, sizeof(four));
	add_input(c, four, sizeof(four));
	for (i = 0; i < 2; i++) {
		c->inputs[i].rank = 1;
		c->inputs[i].dims[0] = 4;
	}
	add_output(c, sum, 4 * sizeof(*sum));
	add_output(c, product, 4 * sizeof(*product));
}

static void test_output_that_is_read(void **state)
{
	static const float sums[] = { 2, 4, 6, 8 }, products[] = { 2, 8, 18, 32 };
	float sum[5], product[5];
	struct nn_plan *plan;
	struct call c;

	(void)state;
	build_two_outputs();
	plan = make_plan();
	two_outputs_call(&c, sum, product);
	assert_runs(plan, &c);
	assert_memory_equal(sum, sums, sizeof(sums));
	assert_memory_equal(product, products, sizeof(products));

	/* Not aligned. */
	two_outputs_call(&c, (float *)((char *)sum + 1), (float *)((char *)product + 2));
	assert_runs(plan, &c);
	assert_memory_equal((char *)sum + 1, sums, sizeof(sums));
	assert_memory_equal((char *)product + 2, products, sizeof(products));

	/*
	 * If the first output does not fit into its memory, the second output's shape and data must
	 * still be right.
	 */
	two_outputs_call(&c, sum, product);
	c.outputs[0].length = 4;
	assert_fails(plan, &c, NN_OUTPUT_INSUFFICIENT_SIZE, "output 0: 4 bytes, needs 16");
	assert_false(c.shapes[0].sufficient);
	assert_true(c.shapes[1].sufficient);
	assert_int_equal(c.shapes[0].dims[0], 4);
	assert_int_equal(c.shapes[1].dims[0], 4);

	two_outputs_call(&c, sum, product);
	c.e.shapes = NULL;
	assert_int_equal(nn_plan_execute(plan, &c.e, NULL), NN_OK);
	assert_false(c.e.shapes_known);
	nn_plan_free(plan);
}

/*
 * A plan copies indices before it checks and uses them, even if the indices are an output of the
 * model. The test passes the same memory for both outputs, so the results overwrite the indices,
 * as another process could.
 */
static void test_indices_in_output(void **state)
{
	static const float rows[4][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } };
	static const struct nn_plan_options options[] = { { .kernels = NULL }, { .kernels = "none" } };
	static const int32_t order[] = { 3, 2, 1, 0 };
	uint32_t x, indices, out;
	float memory[4][2];

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	indices = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4, 2));
	mb_operation(&built, MAXIMUM, MB_LIST(x, x), MB_LIST(indices));
	mb_operation(&built, GATHER,
		     MB_LIST(mb_constant(&built, NN_TENSOR_FLOAT32, rows, sizeof(rows), MB_DIMS(4, 2)),
			     mb_int32(&built, 0), indices), MB_LIST(out));
	for (size_t i = 0; i < LENGTH(options); i++) {
		struct nn_plan *plan;
		struct call c;

		assert_int_equal(nn_plan_create(&built.model, &options[i], &plan, NULL), NN_OK);
		call_init(&c);
		add_input(&c, order, sizeof(order));
		add_output(&c, memory, sizeof(order));
		add_output(&c, memory, sizeof(memory));
		assert_runs(plan, &c);
		for (size_t k = 0; k < LENGTH(order); k++)
			assert_memory_equal(memory[k], rows[order[k]], sizeof(rows[0]));
		nn_plan_free(plan);
	}
}

/* The complete shape of an input must be known from the model or from the argument. */
static void test_unknown_input_shape(void **state)
{
	float sum[4], product[4];
	struct nn_plan *plan;
	struct call c;

	(void)state;
	build_two_outputs();
	plan = make_plan();
	two_outputs_call(&c, sum, product);
	c.inputs[0].rank = 0;
	assert_fails(plan, &c, NN_INVALID_ARGUMENT, "input 0: its shape is unknown");
	two_outputs_call(&c, sum, product);
	c.inputs[1].rank = 0;
	assert_fails(plan, &c, NN_INVALID_ARGUMENT, "input 1: its shape is unknown");
	two_outputs_call(&c, sum, product);
	c.inputs[1].rank = 2;
	c.inputs[1].dims[0] = 65536;
	c.inputs[1].dims[1] = 65536;
	assert_fails(plan, &c, NN_INVALID_ARGUMENT, "input 1: its size does not fit 32 bits");
	nn_plan_free(plan);
}

/* Tests a model out = in[0:size] + 1, where size may be 0. */
static void test_no_elements(void **state)
{
	const int32_t begin = 0;
	const float one = 1;
	uint32_t in, from, size, part, step, none, out;
	struct nn_plan *plan;
	int32_t length = 0;
	struct call c;
	float result;

	(void)state;
	mb_init(&built);
	in = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	size = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	from = mb_constant(&built, NN_TENSOR_INT32, &begin, sizeof(begin), MB_DIMS(1));
	part = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(0));
	step = mb_constant(&built, NN_TENSOR_FLOAT32, &one, sizeof(one), MB_DIMS(1));
	none = mb_int32(&built, 0);
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_NONE);
	mb_operation(&built, SLICE, MB_LIST(in, from, size), MB_LIST(part));
	mb_operation(&built, ADD, MB_LIST(part, step, none), MB_LIST(out));

	plan = make_plan();
	call_init(&c);
	add_input(&c, four, sizeof(four));
	add_input(&c, &length, sizeof(length));
	add_output(&c, NULL, 0);
	assert_runs(plan, &c);
	assert_true(c.shapes[0].sufficient);
	assert_int_equal(c.shapes[0].rank, 1);
	assert_int_equal(c.shapes[0].dims[0], 0);

	length = 1;
	c.outputs[0] = (struct nn_arg){ .data = &result, .length = sizeof(result) };
	assert_runs(plan, &c);
	assert_true(result == 2);
	nn_plan_free(plan);
}

/*
 * Tests a model of two outputs, 1 + in[0:0] and in[0:0] followed by in. The fast kernels do not
 * support an empty first input or an empty output, so the plan's three steps must have no kernel.
 */
static void test_no_kernel_without_elements(void **state)
{
	const int32_t zero = 0;
	const float one = 1;
	uint32_t in, from, none, step, sum, all;
	struct nn_plan *plan;
	float result[4];
	struct call c;

	(void)state;
	mb_init(&built);
	in = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	from = mb_constant(&built, NN_TENSOR_INT32, &zero, sizeof(zero), MB_DIMS(1));
	none = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(0));
	step = mb_constant(&built, NN_TENSOR_FLOAT32, &one, sizeof(one), MB_DIMS(1));
	sum = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0));
	all = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	mb_operation(&built, SLICE, MB_LIST(in, from, from), MB_LIST(none));
	mb_operation(&built, ADD, MB_LIST(step, none, mb_int32(&built, 0)), MB_LIST(sum));
	mb_operation(&built, CONCATENATION, MB_LIST(none, in, mb_int32(&built, 0)), MB_LIST(all));
	plan = make_plan();
	assert_non_null(plan->compiled);
	assert_int_equal(plan->compiled->num_steps, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_null(plan->compiled->steps[i].ready.kernel);
	call_init(&c);
	add_input(&c, four, sizeof(four));
	add_output(&c, NULL, 0);
	add_output(&c, result, sizeof(result));
	assert_runs(plan, &c);
	assert_int_equal(c.shapes[0].rank, 1);
	assert_int_equal(c.shapes[0].dims[0], 0);
	assert_memory_equal(result, four, sizeof(four));
	nn_plan_free(plan);
}

static void test_if(void **state)
{
	static const float x[] = { 2, 3 }, y[] = { 5, 7 };
	static const float results[2][2] = { { 10, 21 }, { 7, 10 } };
	struct nn_plan *plan;
	struct call c;
	float out[2];
	uint8_t i;

	(void)state;
	sample_if(&built);
	plan = make_plan();
	for (i = 0; i < 2; i++) {
		call_init(&c);
		add_input(&c, &i, 1);
		add_input(&c, x, sizeof(x));
		add_input(&c, y, sizeof(y));
		add_output(&c, out, sizeof(out));
		assert_runs(plan, &c);
		assert_memory_equal(out, results[i], sizeof(out));
		c.outputs[0].length = 7;
		assert_fails(plan, &c, NN_OUTPUT_INSUFFICIENT_SIZE, "output 0: 7 bytes, needs 8");
	}
	c.outputs[0].length = 8;
	c.inputs[0] = (struct nn_arg){ .omitted = true };
	assert_fails(plan, &c, NN_GENERAL_FAILURE, "operation 0 (IF): the condition is omitted");
	nn_plan_free(plan);
}

/* Tests IF operations that are nested as deep as allowed; the innermost branch adds 1. */
static void test_deep_if(void **state)
{
	enum { DEPTH = NN_MAX_NESTING };
	static struct nn_operand operands[DEPTH][5];
	static struct nn_operation operations[DEPTH];
	static struct nn_subgraph subgraphs[DEPTH];
	static const uint32_t inputs[] = { 0, 1 }, outputs[] = { 2 };
	static const uint32_t if_inputs[] = { 0, 3, 3, 0, 1 }, add_inputs[] = { 1, 3, 4 };
	const struct { float one; int32_t none; } values = { 1, 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < DEPTH; i++) {
		bool last = i + 1 == DEPTH;

		operands[i][0] = (struct nn_operand){ .type = NN_TENSOR_BOOL8, .rank = 1,
			.dims = { 1 }, .lifetime = NN_SUBGRAPH_INPUT, .consumers = last ? 0 : 2 };
		operands[i][1] = (struct nn_operand){ .type = NN_TENSOR_FLOAT32, .rank = 1,
			.dims = { 1 }, .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 };
		operands[i][2] = (struct nn_operand){ .type = NN_TENSOR_FLOAT32, .rank = 1,
			.dims = { 1 }, .lifetime = NN_SUBGRAPH_OUTPUT };
		operands[i][3] = (struct nn_operand){ .type = NN_SUBGRAPH_TYPE,
			.lifetime = NN_SUBGRAPH, .location.offset = i, .consumers = 2 };
		operations[i] = (struct nn_operation){ NN_OP_IF, 5, 1, if_inputs, outputs };
		if (last) {
			operands[i][3] = (struct nn_operand){ .type = NN_TENSOR_FLOAT32,
				.rank = 1, .dims = { 1 }, .lifetime = NN_CONSTANT_COPY,
				.location.length = 4, .consumers = 1 };
			operands[i][4] = (struct nn_operand){ .type = NN_INT32,
				.lifetime = NN_CONSTANT_COPY, .location.offset = 4,
				.location.length = 4, .consumers = 1 };
			operations[i] = (struct nn_operation){ ADD, 3, 1, add_inputs, outputs };
		}
		subgraphs[i] = (struct nn_subgraph){ last ? 5 : 4, 1, 2, 1, operands[i],
						     &operations[i], inputs, outputs };
	}
	mb_init(&built);
	built.model.num_subgraphs = DEPTH;
	built.model.subgraphs = subgraphs;
	built.model.values = (const uint8_t *)&values;
	built.model.values_size = sizeof(values);

	{
		struct nn_plan *plan = make_plan();
		uint8_t condition = 1;
		float in = 41, out;
		struct call c;

		call_init(&c);
		add_input(&c, &condition, 1);
		add_input(&c, &in, sizeof(in));
		add_output(&c, &out, sizeof(out));
		assert_runs(plan, &c);
		assert_true(out == 42);
		nn_plan_free(plan);
	}
}

static void while_call(struct call *c, const float in[3], float out[2])
{
	uint32_t i;

	call_init(c);
	for (i = 0; i < 3; i++)
		add_input(c, &in[i], sizeof(*in));
	for (i = 0; i < 2; i++)
		add_output(c, &out[i], sizeof(*out));
}

static void test_while(void **state)
{
	const float in[] = { 0, 0, 10 }, none[] = { 3, 4, 2 };
	struct nn_plan *plan;
	struct call c;
	float out[2];

	(void)state;
	sample_while(&built);
	plan = make_plan();
	while_call(&c, in, out);
	assert_runs(plan, &c);
	assert_true(out[0] == 10 && out[1] == 55);

	/* If a WHILE loop has no iteration, its results are the initial values. */
	while_call(&c, none, out);
	assert_runs(plan, &c);
	assert_true(out[0] == 3 && out[1] == 4);

	while_call(&c, in, out);
	c.outputs[1].length = 3;
	assert_fails(plan, &c, NN_OUTPUT_INSUFFICIENT_SIZE, "output 1: 3 bytes, needs 4");
	assert_true(c.shapes[0].sufficient);
	assert_false(c.shapes[1].sufficient);
	while_call(&c, in, out);
	c.outputs[1] = (struct nn_arg){ .omitted = true };
	assert_fails(plan, &c, NN_GENERAL_FAILURE, "operation 0 (WHILE): output 1 is omitted");
	nn_plan_free(plan);
}

static void test_endless_loop(void **state)
{
	const float endless[] = { 0, 0, 1e30f };
	struct nn_plan *plan;
	struct call c;
	float out[2];

	(void)state;
	sample_while(&built);
	plan = make_plan();
	while_call(&c, endless, out);
	c.e.loop_timeout_ns = 1000000;
	assert_fails(plan, &c, NN_MISSED_DEADLINE_TRANSIENT, "the loop runs longer than");
	while_call(&c, endless, out);
	c.e.loop_timeout_ns = UINT64_MAX;
	c.e.deadline_ns = from_now(scaled(200000000));
	assert_fails(plan, &c, NN_MISSED_DEADLINE_TRANSIENT, "the deadline is past");
	nn_plan_free(plan);
}

/*
 * Builds a model: while (length[1] < limit[1]) { list = list ++ {length}; length += 1; } for a list
 * of any size.
 */
static void build_growing_list(bool declared)
{
	static const float one = 1;
	uint32_t condition, body, list, length, limit, more, longer, none, axis, step;
	uint32_t dims[] = { declared ? 1 : 0 };

	mb_init(&built);
	condition = mb_subgraph_operand(&built, 1);
	body = mb_subgraph_operand(&built, 2);
	list = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	length = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	limit = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	more = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, 1, dims);
	mb_operation(&built, NN_OP_WHILE, MB_LIST(condition, body, list, length, limit),
		     MB_LIST(more));

	mb_subgraph(&built);
	mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(0));
	length = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	limit = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	more = mb_operand(&built, NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&built, LESS, MB_LIST(length, limit), MB_LIST(more));

	mb_subgraph(&built);
	list = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(0));
	length = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	more = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0));
	longer = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	axis = mb_int32(&built, 0);
	none = mb_int32(&built, 0);
	step = mb_constant(&built, NN_TENSOR_FLOAT32, &one, sizeof(one), MB_DIMS(1));
	mb_operation(&built, CONCATENATION, MB_LIST(list, length, axis), MB_LIST(more));
	mb_operation(&built, ADD, MB_LIST(length, step, none), MB_LIST(longer));
}

static void test_growing_list(void **state)
{
	static const float expected[] = { 0, 1, 2, 3, 4 };
	const float zero = 0, one = 1, five = 5;
	struct nn_plan *plan;
	struct call c;
	float out[5];

	(void)state;
	build_growing_list(false);
	plan = make_plan();
	call_init(&c);
	add_input(&c, &zero, sizeof(zero));
	add_input(&c, &one, sizeof(one));
	add_input(&c, &five, sizeof(five));
	add_output(&c, out, sizeof(out));
	assert_runs(plan, &c);
	assert_memory_equal(out, expected, sizeof(expected));
	assert_int_equal(c.shapes[0].dims[0], 5);
	c.outputs[0].length = 16;
	assert_fails(plan, &c, NN_OUTPUT_INSUFFICIENT_SIZE, "output 0: 16 bytes, needs 20");
	assert_int_equal(c.shapes[0].dims[0], 5);
	nn_plan_free(plan);

	/*
	 * If the model declares a wrong size of the list, the execution fails when the real size is
	 * known.
	 */
	build_growing_list(true);
	plan = make_plan();
	c.outputs[0].length = sizeof(out);
	assert_fails(plan, &c, NN_GENERAL_FAILURE,
		     "operation 0 (WHILE): output 0: type or shape are not as declared");
	nn_plan_free(plan);
}

/*
 * The subgraph of a WHILE's condition may declare shapes that differ from the shapes at run time.
 */
static void test_shape_of_subgraph_input(void **state)
{
	const float zero = 0, one = 1, five = 5;
	struct nn_plan *plan;
	struct call c;
	float out[5];

	(void)state;
	build_growing_list(false);
	built.operands[1][0].dims[0] = 1;
	plan = make_plan();
	call_init(&c);
	add_input(&c, &zero, sizeof(zero));
	add_input(&c, &one, sizeof(one));
	add_input(&c, &five, sizeof(five));
	add_output(&c, out, sizeof(out));
	assert_fails(plan, &c, NN_GENERAL_FAILURE,
		     "subgraph 1, input 0: type or shape are not as declared");
	nn_plan_free(plan);
}

static void *run_often(void *data)
{
	const struct nn_plan *plan = data;
	uintptr_t wrong = 0;
	int i;

	for (i = 1; i <= 100; i++) {
		const float in[] = { 0, 0, i };
		struct call c;
		float out[2];

		while_call(&c, in, out);
		if (nn_plan_execute(plan, &c.e, NULL) || out[1] != i * (i + 1) / 2)
			wrong++;
	}
	return (void *)wrong;
}

static void test_threads(void **state)
{
	struct nn_plan *plan;
	pthread_t threads[4];
	void *wrong;
	size_t i;

	(void)state;
	sample_while(&built);
	plan = make_plan();
	for (i = 0; i < LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_often, plan), 0);
	for (i = 0; i < LENGTH(threads); i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	nn_plan_free(plan);
}

/*
 * Builds a model of ADD, PAD, and CONV_2D. The filter of 3 by 3 ones sums a pixel and its
 * neighbours. The PAD adds a border of `border` pixels to the image of 2 by 2 pixels. Returns the
 * padded image's operand.
 */
static uint32_t build_padded(int32_t border, int32_t channels, enum nn_lifetime lifetime)
{
	static const float ones[9 * 2] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const float zero;
	const int32_t pads[8] = { 0, 0, border, border, border, border, 0, channels };
	uint32_t depth = 1 + (uint32_t)channels, size = 2 + 2 * (uint32_t)border;
	uint32_t x, sum, padded, filter, bias, paddings, out, none;

	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 2, 2, 1));
	sum = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, 2, 2, 1));
	padded = mb_operand(&built, NN_TENSOR_FLOAT32, lifetime, MB_DIMS(1, size, size, depth));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT,
			 MB_DIMS(1, size - 2, size - 2, 1));
	paddings = mb_constant(&built, NN_TENSOR_INT32, pads, sizeof(pads), MB_DIMS(4, 2));
	filter = mb_constant(&built, NN_TENSOR_FLOAT32, ones, 9 * depth * sizeof(ones[0]),
			     MB_DIMS(1, 3, 3, depth));
	bias = mb_constant(&built, NN_TENSOR_FLOAT32, &zero, sizeof(zero), MB_DIMS(1));
	none = mb_int32(&built, 0);
	mb_operation(&built, ADD, MB_LIST(x, x, none), MB_LIST(sum));
	mb_operation(&built, PAD, MB_LIST(sum, paddings), MB_LIST(padded));
	mb_operation(&built, CONV_2D, MB_LIST(padded, filter, bias, mb_int32(&built, 2),
					      mb_int32(&built, 1), mb_int32(&built, 1), none),
		     MB_LIST(out));
	return padded;
}

/*
 * Returns the number of steps of the model's plan; checks that a saved and loaded plan has as many
 * steps.
 */
static uint32_t count_steps(void)
{
	static const struct nn_plan_options options;
	struct nn_plan *plan = make_plan(), *loaded;
	struct nn_error err = { "" };
	struct nn_plan_image image;
	uint32_t count;
	void *data;

	assert_non_null(plan->compiled);
	count = plan->compiled->num_steps;
	assert_int_equal(nn_plan_save(plan, &image, &err), NN_OK);
	data = aligned_alloc(NN_PLAN_DATA_ALIGN, image.data_size + NN_PLAN_DATA_ALIGN);
	assert_non_null(data);
	nn_plan_image_data(&image, data);
	if (nn_plan_load(image.model, image.model_size, data, image.data_size, &options, &loaded,
			 &err))
		fail_msg("%s", err.message);
	assert_int_equal(loaded->compiled->num_steps, count);
	nn_plan_free(loaded);
	nn_plan_image_free(&image);
	free(data);
	nn_plan_free(plan);
	return count;
}

static void test_fold_pad(void **state)
{
	static const float right[16] = { 2, 6, 6, 4, 8, 20, 20, 12, 8, 20, 20, 12, 6, 14, 14, 8 };
	struct nn_plan *plan;
	struct call c;
	float out[16];

	(void)state;
	build_padded(2, 0, NN_TEMPORARY);
	assert_int_equal(count_steps(), 2);
	plan = make_plan();
	call_init(&c);
	add_input(&c, four, sizeof(four));
	add_output(&c, out, sizeof(out));
	assert_runs(plan, &c);
	assert_memory_equal(out, right, sizeof(right));
	nn_plan_free(plan);
	/*
	 * A PAD is not folded if its border is as large as the filter, if it pads channels, or if
	 * its result is an output of the model.
	 */
	build_padded(3, 0, NN_TEMPORARY);
	assert_int_equal(count_steps(), 3);
	build_padded(1, 1, NN_TEMPORARY);
	assert_int_equal(count_steps(), 3);
	build_padded(1, 0, NN_SUBGRAPH_OUTPUT);
	assert_int_equal(count_steps(), 3);
}

static void test_fold_pad_read_twice(void **state)
{
	uint32_t padded, y;

	(void)state;
	padded = build_padded(1, 0, NN_TEMPORARY);
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 4, 4, 1));
	mb_operation(&built, ADD, MB_LIST(padded, padded, mb_int32(&built, 0)), MB_LIST(y));
	assert_int_equal(count_steps(), 4);
}

/*
 * Builds PAD of an image of 5 by 5 pixels, and CONV_2D with a filter of 3 by 3 different weights.
 */
static void build_window(int32_t head, int32_t tail, int32_t code, int32_t stride)
{
	static const float weights[9] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 }, zero;
	const int32_t pads[8] = { 0, 0, head, tail, tail, head, 0, 0 };
	uint32_t x, padded, out, filter, bias, size = 5 + (uint32_t)(head + tail);
	uint32_t left = code == 1 ? size : size - 2, step = (uint32_t)stride;

	left = (left + step - 1) / step;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 5, 5, 1));
	padded = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, size, size, 1));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, left, left, 1));
	filter = mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights),
			     MB_DIMS(1, 3, 3, 1));
	bias = mb_constant(&built, NN_TENSOR_FLOAT32, &zero, sizeof(zero), MB_DIMS(1));
	mb_operation(&built, PAD,
		     MB_LIST(x, mb_constant(&built, NN_TENSOR_INT32, pads, sizeof(pads),
					    MB_DIMS(4, 2))), MB_LIST(padded));
	mb_operation(&built, CONV_2D, MB_LIST(padded, filter, bias, mb_int32(&built, code),
					      mb_int32(&built, stride), mb_int32(&built, stride),
					      mb_int32(&built, 0)), MB_LIST(out));
}

/* Executes the model of build_window(), and returns whether the compiler folded the PAD. */
static bool run_window(const char *kernels, float out[81])
{
	const struct nn_plan_options options = { .kernels = kernels };
	struct nn_error err = { "" };
	struct nn_plan *plan;
	float in[25];
	struct call c;
	bool folded;

	for (int i = 0; i < 25; i++)
		in[i] = (float)(i + 1);
	memset(out, 0, 81 * sizeof(*out));
	assert_int_equal(nn_plan_create(&built.model, &options, &plan, &err), NN_OK);
	call_init(&c);
	add_input(&c, in, sizeof(in));
	add_output(&c, out, 81 * sizeof(*out));
	assert_runs(plan, &c);
	folded = plan->compiled && plan->compiled->num_steps == 1;
	nn_plan_free(plan);
	return folded;
}

/*
 * Compiled and interpreted results must be equal for SAME and VALID padding of CONV_2D, and for all
 * tested strides and borders.
 */
static void test_fold_pad_windows(void **state)
{
	float right[81], out[81];
	uint32_t folded = 0;

	(void)state;
	for (int32_t i = 0; i < 2 * 3 * 3 * 3; i++) {
		build_window(i % 3, i / 3 % 3, 1 + i / 27, 1 + i / 9 % 3);
		assert_false(run_window("none", right));
		folded += run_window(NULL, out);
		assert_memory_equal(out, right, sizeof(right));
	}
	/*
	 * With VALID padding, the compiler can fold all borders. With SAME padding, the compiler
	 * can fold only borders that remain smaller than the filter.
	 */
	assert_between(folded, 27 + 1, 2 * 27 - 1);
}

/* Builds a chain of QUANTIZE, DEQUANTIZE, QUANTIZE with scale `scale`, and DEQUANTIZE. */
static void build_round_trip(float scale)
{
	uint32_t list[5];

	mb_init(&built);
	for (uint32_t i = 0; i < 5; i++) {
		list[i] = mb_operand(&built, i % 2 ? NN_TENSOR_QUANT8_ASYMM : NN_TENSOR_FLOAT32,
				     i == 0 ? NN_SUBGRAPH_INPUT : i == 4 ? NN_SUBGRAPH_OUTPUT :
				     NN_TEMPORARY, MB_DIMS(4));
		if (i % 2)
			built.operands[0][list[i]].scale = i == 1 ? 0.25f : scale;
	}
	for (uint32_t i = 0; i < 4; i++)
		mb_operation(&built, i % 2 ? DEQUANTIZE : QUANTIZE, MB_LIST(list[i]),
			     MB_LIST(list[i + 1]));
}

static void test_fold_quantize(void **state)
{
	struct nn_plan *plan;
	struct call c;
	float out[4];

	(void)state;
	build_round_trip(0.5f);
	assert_int_equal(count_steps(), 4);
	build_round_trip(0.25f);
	/* The first DEQUANTIZE remains if another operation also reads its result. */
	mb_operation(&built, ADD, MB_LIST(2, 2, mb_int32(&built, 0)),
		     MB_LIST(mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4))));
	assert_int_equal(count_steps(), 4);
	build_round_trip(0.25f);
	assert_int_equal(count_steps(), 2);
	plan = make_plan();
	call_init(&c);
	add_input(&c, four, sizeof(four));
	add_output(&c, out, sizeof(out));
	assert_runs(plan, &c);
	assert_memory_equal(out, four, sizeof(four));
	nn_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_add),
		heap_unit_test(test_times),
		heap_unit_test(test_fp16_is_computed_in_float),
		heap_unit_test(test_fp16_is_rounded_by_cast),
		heap_unit_test(test_fp16_is_hashed_as_it_is),
		heap_unit_test(test_infinity),
		heap_unit_test(test_large_average),
		heap_unit_test(test_broken_calls),
		heap_unit_test(test_unaligned),
		heap_unit_test(test_not_executable),
		heap_unit_test(test_shape_from_values),
		cmocka_unit_test(test_changing_shape),
		heap_unit_test(test_output_that_is_read),
		heap_unit_test(test_indices_in_output),
		heap_unit_test(test_unknown_input_shape),
		heap_unit_test(test_no_elements),
		heap_unit_test(test_no_kernel_without_elements),
		heap_unit_test(test_if),
		heap_unit_test(test_deep_if),
		heap_unit_test(test_while),
		heap_unit_test(test_endless_loop),
		heap_unit_test(test_growing_list),
		heap_unit_test(test_shape_of_subgraph_input),
		cmocka_unit_test(test_threads),
		heap_unit_test(test_fold_pad),
		heap_unit_test(test_fold_pad_read_twice),
		heap_unit_test(test_fold_pad_windows),
		heap_unit_test(test_fold_quantize),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
