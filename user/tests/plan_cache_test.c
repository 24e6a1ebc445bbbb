/* SPDX-License-Identifier: MIT */
/*
 * Tests saved plans: the contents of the model part and the data part, rejected plans, and damaged
 * plans. Another test, plan_diff_test, saves and loads plans of random graphs.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "model/wire.h"
#include "model_samples.h"
#include "ops/op.h"
#include "plan/compiled.h"
#include "plan/plan.h"
#include "plan/saved/saved.h"
#include "tests/serialised_plan.h"
#include "tests/heap_blocks.h"

#define WEIGHT 1234.5f		/* a weight that the test finds in the saved parts */

static struct model_builder built;

/* A saved plan whose data part can be modified. */
struct saved {
	struct nn_plan *plan;
	struct nn_plan_image image;
	uint8_t *data;
};

static struct nn_plan *plan_built(const struct nn_plan_options *options)
{
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;

	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, options, &plan, &err))
		fail_msg("%s", err.message);
	return plan;
}

/* Saves a plan; the returned struct owns the plan. */
static struct saved save_plan(struct nn_plan *plan)
{
	struct saved s = { .plan = plan };
	struct nn_error err = { "" };

	if (nn_plan_save(s.plan, &s.image, &err))
		fail_msg("%s", err.message);
	s.data = aligned_alloc(NN_PLAN_DATA_ALIGN, s.image.data_size + NN_PLAN_DATA_ALIGN);
	assert_non_null(s.data);
	memset(s.data, 0xee, s.image.data_size + NN_PLAN_DATA_ALIGN);
	nn_plan_image_data(&s.image, s.data);
	return s;
}

static struct saved save_built(void)
{
	static const struct nn_plan_options options;

	return save_plan(plan_built(&options));
}

static void free_saved(struct saved *s)
{
	nn_plan_free(s->plan);
	nn_plan_image_free(&s->image);
	free(s->data);
}

static enum nn_status load_with(const struct saved *s, const char *kernels, struct nn_plan **plan,
				struct nn_error *err)
{
	const struct nn_plan_options options = { .kernels = kernels };

	err->message[0] = '\0';
	return nn_plan_load(s->image.model, s->image.model_size, s->data, s->image.data_size,
			    &options, plan, err);
}

static const char *kernels_of(const struct saved *s)
{
	return ((const struct saved_header *)s->image.model)->kernels;
}

static struct nn_plan *load(const struct saved *s)
{
	struct nn_error err;
	struct nn_plan *plan;

	if (load_with(s, NULL, &plan, &err))
		fail_msg("%s", err.message);
	return plan;
}

static void assert_refused(const struct saved *s, enum nn_status expected, const char *message)
{
	struct nn_error err;
	struct nn_plan *plan;
	enum nn_status status = load_with(s, NULL, &plan, &err);

	if (status != expected || plan || !strstr(err.message, message))
		fail_msg("%s: \"%s\", not \"%s\"", nn_status_name(status), err.message, message);
}

/* Runs a plan of one input and one output of floats. */
static enum nn_status run(const struct nn_plan *plan, const void *in, size_t num_in, float *out,
			  size_t num_out)
{
	struct nn_arg input = { .data = (void *)in, .length = num_in * sizeof(float) };
	struct nn_arg output = { .data = out, .length = num_out * sizeof(*out) };
	struct nn_output_shape shape;
	struct nn_execution e = {
		.num_inputs = 1, .num_outputs = 1, .inputs = &input, .outputs = &output,
		.shapes = &shape,
	};
	struct nn_error err;

	return nn_plan_execute(plan, &e, &err);
}

static bool contains(const void *part, size_t size, const void *value, size_t length)
{
	return memmem(part, size, value, length);
}

/* ---- Contents of the model part and of the data part ---- */

/*
 * Builds out[2,2] = gather(x[3,2], {2, 0}) times a matrix of weights, reshaped to {2, 1 + 1}, plus
 * {1, 2} * {3, 4}. The model has constant indices, packed weights, a computed shape and a computed
 * value.
 */
static void build_mixed(void)
{
	static const int32_t indices[] = { 2, 0 };
	static const int32_t first[] = { 2, 1 }, second[] = { 0, 1 };
	static const float weights[] = { 1, WEIGHT, 0, 1 }, bias[] = { 0.5f, 0.25f };
	static const float a[] = { 1, 2 }, b[] = { 3, 4 };
	uint32_t x, list, gathered, w, c, product, shape, reshaped, ab, out, f, s, p, q;

	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(3, 2));
	list = mb_constant(&built, NN_TENSOR_INT32, indices, sizeof(indices), MB_DIMS(2));
	gathered = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2, 2));
	mb_operation(&built, NN_OP_GATHER, MB_LIST(x, mb_int32(&built, 0), list),
		     MB_LIST(gathered));
	w = mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights), MB_DIMS(2, 2));
	c = mb_constant(&built, NN_TENSOR_FLOAT32, bias, sizeof(bias), MB_DIMS(2));
	product = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2, 2));
	mb_operation(&built, NN_OP_FULLY_CONNECTED, MB_LIST(gathered, w, c, mb_int32(&built, 0)),
		     MB_LIST(product));
	f = mb_constant(&built, NN_TENSOR_INT32, first, sizeof(first), MB_DIMS(2));
	s = mb_constant(&built, NN_TENSOR_INT32, second, sizeof(second), MB_DIMS(2));
	shape = mb_operand(&built, NN_TENSOR_INT32, NN_TEMPORARY, MB_NONE);
	mb_operation(&built, NN_OP_ADD, MB_LIST(f, s, mb_int32(&built, 0)), MB_LIST(shape));
	reshaped = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_NONE);
	mb_operation(&built, NN_OP_RESHAPE, MB_LIST(product, shape), MB_LIST(reshaped));
	p = mb_constant(&built, NN_TENSOR_FLOAT32, a, sizeof(a), MB_DIMS(2));
	q = mb_constant(&built, NN_TENSOR_FLOAT32, b, sizeof(b), MB_DIMS(2));
	ab = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_NONE);
	mb_operation(&built, NN_OP_MUL, MB_LIST(p, q, mb_int32(&built, 0)), MB_LIST(ab));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 2));
	mb_operation(&built, NN_OP_ADD, MB_LIST(reshaped, ab, mb_int32(&built, 0)), MB_LIST(out));
}

static const float six[] = { 1, 2, 3, 4, 5, 6 };

/*
 * GATHER returns the rows {5, 6} and {1, 2} of x. The operations after GATHER map each row (a, b)
 * to (a + WEIGHT * b + 0.5, b + 0.25) + (3, 8).
 */
static const float mixed_right[] = {
	5 + WEIGHT * 6 + 3.5f, 14.25f, 1 + WEIGHT * 2 + 3.5f, 10.25f,
};

/*
 * Builds a CONV_2D of x[1,3,1,2] with a matrix of weights, an ADD of {3, 8}, and a
 * DEPTHWISE_CONV_2D with ones. Each step of the model's plan has a kernel that can be saved.
 */
static void build_serialised(void)
{
	static const float weights[] = { 1, WEIGHT, 0, 1 }, bias[] = { 0.5f, 0.25f };
	static const float b[] = { 3, 8 }, ones[] = { 1, 1 }, zeros[] = { 0, 0 };
	uint32_t x, w, c, product, sum, out, one, zero;

	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 3, 1, 2));
	w = mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights), MB_DIMS(2, 1, 1, 2));
	c = mb_constant(&built, NN_TENSOR_FLOAT32, bias, sizeof(bias), MB_DIMS(2));
	one = mb_int32(&built, 1);
	zero = mb_int32(&built, 0);
	product = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, 3, 1, 2));
	mb_operation(&built, NN_OP_CONV_2D, MB_LIST(x, w, c, one, one, one, zero),
		     MB_LIST(product));
	sum = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, 3, 1, 2));
	mb_operation(&built, NN_OP_ADD, MB_LIST(product, mb_constant(&built, NN_TENSOR_FLOAT32, b,
							       sizeof(b), MB_DIMS(2)), zero),
		     MB_LIST(sum));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 3, 1, 2));
	w = mb_constant(&built, NN_TENSOR_FLOAT32, ones, sizeof(ones), MB_DIMS(1, 1, 1, 2));
	c = mb_constant(&built, NN_TENSOR_FLOAT32, zeros, sizeof(zeros), MB_DIMS(2));
	mb_operation(&built, NN_OP_DEPTHWISE_CONV_2D, MB_LIST(sum, w, c, one, one, one, one, zero),
		     MB_LIST(out));
}

static const float serialised_right[] = {
	1 + WEIGHT * 2 + 3.5f, 10.25f, 3 + WEIGHT * 4 + 3.5f, 12.25f, 5 + WEIGHT * 6 + 3.5f, 14.25f,
};

/*
 * Sample models: `is_serialised` says whether the model's plan is saved in serialised form or in
 * the model's wire form.
 */
static const struct sample {
	void (*build)(void);
	const float *right;		/* expected results for the input `six` */
	size_t count;
	bool is_serialised;
} samples[] = {
	{ build_mixed, mixed_right, 4, false },
	{ build_serialised, serialised_right, 6, true },
};

#define NUM_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void assert_right(const struct sample *sample, const struct nn_plan *plan)
{
	float out[6] = { 0 };

	assert_int_equal(run(plan, six, 6, out, sample->count), NN_OK);
	assert_memory_equal(out, sample->right, sample->count * sizeof(*out));
}

static void test_parts(void **state)
{
	static const int32_t indices[] = { 2, 0 }, shape[] = { 2, 2 };
	static const float weight[] = { WEIGHT }, product[] = { 3, 8 };
	char odd[sizeof(six) + 1];
	struct nn_plan *plan;
	struct nn_error err;
	struct saved s;
	float out[4];

	(void)state;
	build_mixed();
	s = save_built();
	assert_true(s.image.data_size > 0 && s.image.data_size % NN_PLAN_DATA_ALIGN == 0);
	assert_true(contains(s.image.model, s.image.model_size, indices, sizeof(indices)));
	assert_true(contains(s.image.model, s.image.model_size, shape, sizeof(shape)));
	assert_false(contains(s.image.model, s.image.model_size, weight, sizeof(weight)));
	assert_false(contains(s.data, s.image.data_size, indices, sizeof(indices)));
	assert_true(contains(s.data, s.image.data_size, weight, sizeof(weight)));
	assert_true(contains(s.data, s.image.data_size, product, sizeof(product)));
	assert_int_equal(s.data[s.image.data_size], 0xee);

	assert_int_equal(((struct saved_header *)s.image.model)->serial_size, 0);
	plan = load(&s);
	/*
	 * The saved plan does not contain operations that were computed in advance. The saved plan
	 * has only GATHER, FULLY_CONNECTED, RESHAPE and ADD.
	 */
	assert_int_equal(nn_plan_model(plan)->subgraphs[0].num_operations, 4);
	assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	/*
	 * A plan with unaligned arguments is interpreted, so the saved plan must have all
	 * constants.
	 */
	memcpy(odd + 1, six, sizeof(six));
	memset(out, 0, sizeof(out));
	assert_int_equal(run(plan, odd + 1, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	nn_plan_free(plan);
	assert_int_equal(load_with(&s, kernels_of(&s), &plan, &err), NN_OK);
	assert_non_null(nn_plan_main(plan));
	nn_plan_free(plan);
	assert_int_equal(load_with(&s, "none", &plan, &err), NN_OK);
	assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	nn_plan_free(plan);
	free_saved(&s);
}

/* Returns how often `value` occurs in a part of a saved plan. */
static uint32_t count_in(const void *part, size_t size, const void *value, size_t length)
{
	const char *at = part, *end = at + size;
	uint32_t count = 0;

	while ((at = memmem(at, (size_t)(end - at), value, length))) {
		count++;
		at++;
	}
	return count;
}

/* A serialised plan contains no model, and its data part has only data that the plan reads. */
static void test_serialised(void **state)
{
	const struct sample *sample = &samples[1];
	static const float weight[] = { WEIGHT };
	const struct nn_subgraph *main;
	struct nn_plan *plan, *none;
	struct nn_error err;
	struct saved s;

	(void)state;
	build_serialised();
	s = save_built();
	assert_true(((struct saved_header *)s.image.model)->serial_size > 0);
	assert_false(contains(s.image.model, s.image.model_size, weight, sizeof(weight)));
	assert_int_equal(count_in(s.data, s.image.data_size, weight, sizeof(weight)), 1);
	plan = load(&s);
	assert_null(nn_plan_model(plan));
	assert_false(nn_plan_has_extensions(plan));
	main = nn_plan_main(plan);
	assert_int_equal(main->num_inputs, 1);
	assert_int_equal(main->operands[main->outputs[0]].dims[1], 3);
	assert_int_equal(main->operands[main->outputs[0]].lifetime, NN_SUBGRAPH_OUTPUT);
	assert_right(sample, plan);
	nn_plan_free(plan);
	assert_int_equal(load_with(&s, kernels_of(&s), &plan, &err), NN_OK);
	nn_plan_free(plan);
	assert_int_equal(load_with(&s, "none", &none, &err), NN_GENERAL_FAILURE);
	assert_non_null(strstr(err.message, "is for the kernels"));
	free_saved(&s);
}

/* Checks the saved plan of an SVDF with or without a bias, on the input {1, 2, 3, 4, 5, 6}. */
static void check_svdf(bool has_bias)
{
	static const float features[] = { 1, 0, 0, 0, 0, WEIGHT, 0, 1, 1, 0, 0, 0 };
	static const float times[] = { 0.5f, 2, 1, 4 }, biases[] = { 10, 20 };
	static const float state[] = { 3, 7 };
	const float first = 1 + 6 * WEIGHT, second = 5;
	const float right[] = {
		3 * 0.5f + first * 2 + (has_bias ? 10 : 0), 7 + second * 4 + (has_bias ? 20 : 0),
	};
	float before[] = { state[0], 99, state[1], 99 }, after[4], out[2];
	struct nn_arg in[] = { { .data = (void *)six, .length = sizeof(six) },
			       { .data = before, .length = sizeof(before) } };
	struct nn_arg outs[] = { { .data = after, .length = sizeof(after) },
				 { .data = out, .length = sizeof(out) } };
	struct nn_execution e = { .num_inputs = 2, .num_outputs = 2, .inputs = in,
				  .outputs = outs };
	uint32_t x, feature, time, bias, from, to, sums;
	struct form_steps steps;
	struct nn_plan *plan;
	struct nn_error err;
	struct saved s;

	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 6));
	feature = mb_constant(&built, NN_TENSOR_FLOAT32, features, sizeof(features),
			      MB_DIMS(2, 6));
	time = mb_constant(&built, NN_TENSOR_FLOAT32, times, sizeof(times), MB_DIMS(2, 2));
	bias = has_bias ? mb_constant(&built, NN_TENSOR_FLOAT32, biases, sizeof(biases),
				      MB_DIMS(2)) :
	       mb_operand(&built, NN_TENSOR_FLOAT32, NN_NO_VALUE, MB_DIMS(2));
	from = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 4));
	to = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 4));
	sums = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 2));
	mb_operation(&built, NN_OP_SVDF, MB_LIST(x, feature, time, bias, from, mb_int32(&built, 1),
						 mb_int32(&built, 0)), MB_LIST(to, sums));
	s = save_built();
	assert_true(((struct saved_header *)s.image.model)->serial_size > 0);
	/* The data part has the feature weights only in packed form. */
	assert_false(contains(s.data, s.image.data_size, features, sizeof(features)));
	plan = load(&s);
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
	assert_memory_equal(out, right, sizeof(right));
	assert_memory_equal(after, ((const float[]){ first, 0, second, 0 }), sizeof(after));
	nn_plan_free(plan);
	/* A damaged plan in which both outputs of a step have one address is refused. */
	steps = form_steps_begin(s.image.model);
	assert_true(form_steps_next(&steps));
	form_outputs(steps.step)[1] = form_outputs(steps.step)[0];
	assert_refused(&s, NN_GENERAL_FAILURE, "step 0");
	free_saved(&s);
}

static void test_serialised_svdf(void **state)
{
	(void)state;
	check_svdf(true);
	check_svdf(false);
}

/*
 * Runs the plan of build_serialised() on valid or invalid arguments, and sets *shape to the
 * output's shape.
 */
static enum nn_status run_args(const struct nn_plan *plan, struct nn_arg in, struct nn_arg out,
			       uint64_t deadline_ns, struct nn_output_shape *shape)
{
	struct nn_execution e = {
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.shapes = shape, .deadline_ns = deadline_ns,
	};
	struct nn_error err = { "" };
	enum nn_status status;

	memset(shape, 0xee, sizeof(*shape));
	status = nn_plan_execute(plan, &e, &err);
	assert_true(!status == !err.message[0]);
	assert_true(e.shapes_known == (!status || status == NN_OUTPUT_INSUFFICIENT_SIZE));
	return status;
}

/* Tests arguments that the kernels of a serialised plan cannot use directly. */
static void test_serialised_arguments(void **state)
{
	const struct sample *sample = &samples[1];
	const struct nn_arg in = { .data = (void *)six, .length = sizeof(six) };
	char odd_in[sizeof(six) + 1], odd_out[sizeof(six) + 1];
	struct nn_arg x = in, y = { .data = odd_out + 1, .length = sizeof(six) };
	struct nn_output_shape shape;
	struct nn_plan *plan;
	float out[6] = { 0 };
	struct saved s;

	(void)state;
	build_serialised();
	s = save_built();
	plan = load(&s);
	memcpy(odd_in + 1, six, sizeof(six));
	x.data = odd_in + 1;
	assert_int_equal(run_args(plan, x, y, 0, &shape), NN_OK);
	assert_memory_equal(odd_out + 1, sample->right, sizeof(six));
	assert_true(shape.sufficient && shape.rank == 4 && shape.dims[1] == 3);

	/*
	 * The input's argument declares the right dimensions in one execution, and wrong dimensions
	 * in a later execution.
	 */
	y.data = out;
	x = in;
	x.rank = 4;
	memcpy(x.dims, (uint32_t[]){ 1, 3, 1, 2 }, 4 * sizeof(uint32_t));
	assert_int_equal(run_args(plan, x, y, 0, &shape), NN_OK);
	assert_memory_equal(out, sample->right, sizeof(out));
	x.dims[1] = 0;
	assert_int_equal(run_args(plan, x, y, 0, &shape), NN_INVALID_ARGUMENT);
	x.dims[1] = 4;
	assert_int_equal(run_args(plan, x, y, 0, &shape), NN_INVALID_ARGUMENT);

	x = in;
	y.rank = 4;
	memset(out, 0, sizeof(out));
	assert_int_equal(run_args(plan, x, y, 0, &shape), NN_OK);
	assert_memory_equal(out, sample->right, sizeof(out));
	y.rank = 0;

	/*
	 * An execution fails if an argument is omitted, if the argument's memory is too small or
	 * missing, or if the deadline has passed.
	 */
	y.length--;
	assert_int_equal(run_args(plan, x, y, 0, &shape), NN_OUTPUT_INSUFFICIENT_SIZE);
	assert_true(!shape.sufficient && shape.rank == 4 && shape.dims[3] == 2);
	assert_int_equal(run_args(plan, x, (struct nn_arg){ 0 }, 0, &shape),
			 NN_OUTPUT_INSUFFICIENT_SIZE);
	y.length++;
	x.length--;
	assert_int_equal(run_args(plan, x, y, 0, &shape), NN_INVALID_ARGUMENT);
	assert_int_equal(run_args(plan, (struct nn_arg){ .omitted = true }, y, 0, &shape),
			 NN_GENERAL_FAILURE);
	assert_int_equal(run_args(plan, in, (struct nn_arg){ .omitted = true }, 0, &shape),
			 NN_GENERAL_FAILURE);
	assert_int_equal(run_args(plan, in, y, 1, &shape), NN_MISSED_DEADLINE_PERSISTENT);
	assert_right(sample, plan);
	nn_plan_free(plan);
	free_saved(&s);
}

/*
 * If executions may omit an argument, the model is saved in wire form instead of a serialised plan.
 */
static void test_may_omit(void **state)
{
	const struct nn_arg args[] = {
		{ .data = (void *)six, .length = sizeof(six) }, { .omitted = true },
	};
	float y[6] = { 0 };
	const struct nn_arg out = { .data = y, .length = sizeof(y) };
	struct nn_execution e = { .num_inputs = 2, .num_outputs = 1, .inputs = args,
				  .outputs = &out };
	struct nn_error err = { "" };
	struct nn_plan *plan;
	struct saved s;

	(void)state;
	build_serialised();
	mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	s = save_built();
	assert_int_equal(((struct saved_header *)s.image.model)->serial_size, 0);
	plan = load(&s);
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
	assert_memory_equal(y, serialised_right, sizeof(y));
	nn_plan_free(plan);
	free_saved(&s);
}

/* Checks that a loaded plan, if it is saved again, has the parts from which it was loaded. */
static void assert_saved_again(const struct saved *s, const struct nn_plan *plan)
{
	struct nn_plan_image image;
	struct nn_error err = { "" };
	uint8_t *data;

	assert_int_equal(nn_plan_save(plan, &image, &err), NN_OK);
	assert_int_equal(image.model_size, s->image.model_size);
	assert_memory_equal(image.model, s->image.model, image.model_size);
	assert_int_equal(image.data_size, s->image.data_size);
	data = malloc(image.data_size + 1);
	assert_non_null(data);
	nn_plan_image_data(&image, data);
	assert_memory_equal(data, s->data, image.data_size);
	free(data);
	nn_plan_image_free(&image);
}

static void check_save_again(const struct sample *sample)
{
	struct nn_plan *plan;
	struct saved s;

	sample->build();
	s = save_built();
	plan = load(&s);
	assert_saved_again(&s, plan);
	nn_plan_free(plan);
	free_saved(&s);
}

static void test_save_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < NUM_SAMPLES; i++)
		check_save_again(&samples[i]);
}

static void test_control_flow(void **state)
{
	const uint8_t yes = 1;
	const float a[] = { 2, 3 }, b[] = { 4, 5 }, right[] = { 6, 8 };
	struct nn_arg inputs[] = {
		{ .data = (void *)&yes, .length = 1 }, { .data = (void *)a, .length = sizeof(a) },
		{ .data = (void *)b, .length = sizeof(b) },
	};
	float out[2];
	struct nn_arg output = { .data = out, .length = sizeof(out) };
	struct nn_execution e = {
		.num_inputs = 3, .num_outputs = 1, .inputs = inputs, .outputs = &output,
	};
	struct nn_plan *plan;
	struct nn_error err;
	struct saved s;

	(void)state;
	sample_if(&built);
	s = save_built();
	plan = load(&s);
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
	assert_memory_equal(out, right, sizeof(right));
	nn_plan_free(plan);
	free_saved(&s);
	sample_while(&built);
	s = save_built();
	nn_plan_free(load(&s));
	free_saved(&s);
}

/* If a branch computes addresses from a value, the saved plan has this value in the model part. */
static void test_determining_inside(void **state)
{
	static const int32_t shape[] = { -1, 3 };
	const uint8_t yes = 1;
	const struct nn_arg inputs[] = {
		{ .data = (void *)&yes, .length = 1 },
		{ .data = (void *)six, .length = sizeof(six) },
	};
	float out[6];
	struct nn_arg output = { .data = out, .length = sizeof(out) };
	struct nn_execution e = {
		.num_inputs = 2, .num_outputs = 1, .inputs = inputs, .outputs = &output,
	};
	uint32_t condition, x, s, y, branches[2];
	struct saved_header *h;
	struct nn_plan *plan;
	struct nn_error err;
	struct saved saved;

	(void)state;
	/* Either the first branch, the second branch or no branch uses the constant shape. */
	for (uint32_t asks = 0; asks < 3; asks++) {
		mb_init(&built);
		condition = mb_operand(&built, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(1));
		x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(6));
		s = mb_constant(&built, NN_TENSOR_INT32, shape, sizeof(shape), MB_DIMS(2));
		y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_NONE);
		branches[0] = mb_subgraph_operand(&built, 1);
		branches[1] = mb_subgraph_operand(&built, 2);
		mb_operation(&built, NN_OP_IF, MB_LIST(condition, branches[0], branches[1], x, s),
			     MB_LIST(y));
		for (uint32_t k = 0; k < 2; k++) {
			mb_subgraph(&built);
			x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(6));
			s = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
			y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_NONE);
			if (k == asks)
				mb_operation(&built, NN_OP_RESHAPE, MB_LIST(x, s), MB_LIST(y));
			else
				mb_operation(&built, NN_OP_RELU, MB_LIST(x), MB_LIST(y));
		}
		saved = save_built();
		assert_int_equal(contains(saved.image.model, saved.image.model_size, shape,
					  sizeof(shape)), asks < 2);
		plan = load(&saved);
		assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
		assert_memory_equal(out, six, sizeof(six));
		nn_plan_free(plan);
		/*
		 * A saved plan that consists of sections can be loaded only on a CPU that runs the
		 * plan's kernels.
		 */
		h = saved.image.model;
		assert_int_equal(h->choice, SAVED_SECTIONS);
		strcpy(h->kernels, "abacus");
		assert_refused(&saved, NN_GENERAL_FAILURE, "does not run the kernels abacus");
		free_saved(&saved);
	}
}

/* Saves and loads the model of `built`, and runs it with `count` inputs and one output. */
static void check_loaded(const struct nn_arg *inputs, uint32_t count, const void *right,
			 uint64_t size, bool is_serialised)
{
	char out[64];
	const struct nn_arg output = { .data = out, .length = size };
	struct nn_execution e = {
		.num_inputs = count, .num_outputs = 1, .inputs = inputs, .outputs = &output,
	};
	struct nn_error err = { "" };
	struct saved s = save_built();
	struct nn_plan *plan = load(&s);

	assert_int_equal(((struct saved_header *)s.image.model)->serial_size > 0, is_serialised);
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
	assert_memory_equal(out, right, size);
	nn_plan_free(plan);
	free_saved(&s);
}

/*
 * If weights are arguments, each execution packs them into memory that has the size of the largest
 * weights.
 */
static void test_weights_of_runs(void **state)
{
	static const float w1[9][2] = { [4] = { 2, 3 } }, w2[] = { 1, 10 }, none[2];
	static const float right[] = { 2, 60, 6, 120, 10, 180 };
	struct nn_arg inputs[] = {
		{ .data = (void *)six, .length = sizeof(six) },
		{ .data = (void *)w1, .length = sizeof(w1) },
		{ .data = (void *)w2, .length = sizeof(w2) },
	};
	uint32_t from, to, w, bias, zero, one;

	(void)state;
	mb_init(&built);
	from = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 3, 1, 2));
	bias = mb_constant(&built, NN_TENSOR_FLOAT32, none, sizeof(none), MB_DIMS(2));
	zero = mb_int32(&built, 0);
	one = mb_int32(&built, 1);
	for (uint32_t i = 0; i < 2; i++) {
		w = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT,
			       MB_DIMS(1, i ? 1 : 9, 1, 2));
		to = mb_operand(&built, NN_TENSOR_FLOAT32, i ? NN_SUBGRAPH_OUTPUT : NN_TEMPORARY,
				MB_DIMS(1, 3, 1, 2));
		mb_operation(&built, NN_OP_DEPTHWISE_CONV_2D,
			     MB_LIST(from, w, bias, one, one, one, one, zero), MB_LIST(to));
		from = to;
	}
	check_loaded(inputs, 3, right, sizeof(right), true);
}

/*
 * The plan drops the first constant, because steps need it only in packed form. The plan keeps the
 * second constant, because steps read this constant unpacked.
 */
static void test_pieces(void **state)
{
	static const float w[4][4] = { { 1 }, { 0, 1 }, { 0, 0, 1 }, { 0, 0, 0, 1 } }, none[4];
	static const float more[] = { 10, 20, 30, 40 };
	float in[3][4], right[3][4];
	const struct nn_arg input = { .data = in, .length = sizeof(in) };
	uint32_t x, weights, bias, add, product, out, zero, one;

	(void)state;
	for (int i = 0; i < 3 * 4; i++) {
		in[i / 4][i % 4] = (float)i;
		right[i / 4][i % 4] = (float)i + more[i % 4];
	}
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 3, 1, 4));
	bias = mb_constant(&built, NN_TENSOR_FLOAT32, none, sizeof(none), MB_DIMS(4));
	weights = mb_constant(&built, NN_TENSOR_FLOAT32, w, SAVED_ALIGN, MB_DIMS(4, 1, 1, 4));
	add = mb_constant(&built, NN_TENSOR_FLOAT32, more, sizeof(more), MB_DIMS(4));
	zero = mb_int32(&built, 0);
	one = mb_int32(&built, 1);
	product = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, 3, 1, 4));
	mb_operation(&built, NN_OP_CONV_2D, MB_LIST(x, weights, bias, one, one, one, zero),
		     MB_LIST(product));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 3, 1, 4));
	mb_operation(&built, NN_OP_ADD, MB_LIST(product, add, zero), MB_LIST(out));
	check_loaded(&input, 1, right, sizeof(right), true);
}

/*
 * The model is saved in wire form if an argument has scales per channel, which a serialised plan
 * cannot store.
 */
static void test_channels_of_an_argument(void **state)
{
	static const float scales[] = { 1 };
	static const int32_t bias = 1;
	const uint8_t filter = 2, x = 3, right = 7;
	struct nn_arg inputs[] = {
		{ .data = (void *)&filter, .length = 1 }, { .data = (void *)&x, .length = 1 },
	};
	uint32_t f, in, b, one, out;

	(void)state;
	mb_init(&built);
	f = mb_operand(&built, NN_TENSOR_QUANT8_SYMM_PER_CHANNEL, NN_SUBGRAPH_INPUT,
		       MB_DIMS(1, 1, 1, 1));
	built.operands[0][f].extra = (struct nn_extra){
		.kind = NN_EXTRA_CHANNEL_QUANT, .count = 1, .scales = scales,
	};
	in = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT, MB_DIMS(1, 1, 1, 1));
	b = mb_constant(&built, NN_TENSOR_INT32, &bias, sizeof(bias), MB_DIMS(1));
	out = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 1, 1, 1));
	built.operands[0][in].scale = built.operands[0][out].scale = 1;
	one = mb_int32(&built, 1);
	mb_operation(&built, NN_OP_CONV_2D,
		     MB_LIST(in, f, b, one, one, one, mb_int32(&built, 0)), MB_LIST(out));
	check_loaded(inputs, 2, &right, 1, false);
}

/* Tests operations with more operands than a set of 64 bits can hold. */
static void test_many_operands(void **state)
{
	enum { PARTS = 70 };
	uint32_t list[PARTS + 1], out;
	float sum[PARTS];
	struct nn_plan *plan;
	struct saved s;

	(void)state;
	mb_init(&built);
	for (uint32_t i = 0; i < PARTS; i++)
		list[i] = i ? mb_constant(&built, NN_TENSOR_FLOAT32, &six[i % 6], sizeof(float),
					  MB_DIMS(1)) :
			      mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	list[PARTS] = mb_int32(&built, 0);
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(PARTS));
	mb_operation(&built, NN_OP_CONCATENATION, PARTS + 1, list, MB_LIST(out));
	s = save_built();
	plan = load(&s);
	assert_int_equal(run(plan, six, 1, sum, PARTS), NN_OK);
	for (uint32_t i = 0; i < PARTS; i++)
		assert_float_equal(sum[i], six[i % 6], 0);
	nn_plan_free(plan);
	free_saved(&s);
}

/*
 * A plan without constants has no data part, even after the plan was saved, loaded and saved again.
 * A CONCATENATION has tables only for bytes that change.
 */
static void test_no_data(void **state)
{
	static const struct sample same = { NULL, six, 6, true };

	(void)state;
	for (int concatenates = 0; concatenates < 2; concatenates++) {
		struct nn_plan *plan;
		uint32_t x, y;
		struct saved s;

		mb_init(&built);
		x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(3, 2));
		y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(3, 2));
		if (concatenates)
			mb_operation(&built, NN_OP_CONCATENATION, MB_LIST(x, mb_int32(&built, 1)),
				     MB_LIST(y));
		else
			mb_operation(&built, NN_OP_RELU, MB_LIST(x), MB_LIST(y));
		s = save_built();
		assert_true(((struct saved_header *)s.image.model)->serial_size > 0);
		assert_int_equal(s.image.data_size, 0);
		plan = load(&s);
		assert_right(&same, plan);
		assert_saved_again(&s, plan);
		nn_plan_free(plan);
		free_saved(&s);
	}
}

/*
 * Loads a plan in which the output of a step is next to the step's input, because a CONCATENATION
 * joins both in memory. The output follows the input, or the input follows the output.
 */
static void test_adjacent(void **state)
{
	float in[16], out[32];

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		in[i] = (float)i - 4;
	for (uint32_t first = 0; first < 2; first++) {
		uint32_t x, parts[2], all;
		struct nn_plan *plan;
		struct saved s;

		mb_init(&built);
		x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(16));
		for (uint32_t i = 0; i < 2; i++)
			parts[i] = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(16));
		all = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(32));
		mb_operation(&built, NN_OP_ABS, MB_LIST(x), MB_LIST(parts[first]));
		mb_operation(&built, NN_OP_NEG, MB_LIST(parts[first]), MB_LIST(parts[!first]));
		mb_operation(&built, NN_OP_CONCATENATION,
			     MB_LIST(parts[0], parts[1], mb_int32(&built, 0)), MB_LIST(all));
		s = save_built();
		assert_true(((struct saved_header *)s.image.model)->serial_size > 0);
		plan = load(&s);
		assert_int_equal(run(plan, in, 16, out, 32), NN_OK);
		for (uint32_t i = 0; i < 32; i++)
			assert_float_equal(out[i], fabsf(in[i % 16]) * (i / 16 == first ? 1 : -1), 0);
		nn_plan_free(plan);
		/* A plan with bytes after its last step is refused; here no step has packed weights. */
		((struct serial_header *)((struct saved_header *)s.image.model + 1))->num_steps--;
		assert_refused(&s, NN_GENERAL_FAILURE, "step 1");
		free_saved(&s);
	}
}

/* Builds a FULLY_CONNECTED whose weights are at the beginning of a pool, with a bias of zeroes. */
static void build_product(uint32_t rows, uint32_t columns, uint32_t depth, int32_t type,
			  struct nn_pool pool)
{
	static const float no_bias[16384];
	const bool is_float = type == NN_TENSOR_FLOAT32;
	const uint32_t bias_size = columns * sizeof(*no_bias);
	uint32_t o[4];

	mb_init(&built);
	o[0] = mb_operand(&built, type, NN_SUBGRAPH_INPUT, MB_DIMS(rows, depth));
	o[1] = mb_reference(&built, type, 0, 0, columns * depth * (is_float ? sizeof(float) : 1),
			    MB_DIMS(columns, depth));
	o[2] = mb_reference(&built, is_float ? NN_TENSOR_FLOAT32 : NN_TENSOR_INT32, 1, 0, bias_size,
			    MB_DIMS(columns));
	o[3] = mb_operand(&built, type, NN_SUBGRAPH_OUTPUT, MB_DIMS(rows, columns));
	for (uint32_t i = 0; i < 4 && !is_float; i++)
		built.operands[0][o[i]].scale = i == 2 ? 0.25f : i == 3 ? 8 : 0.5f;
	mb_operation(&built, NN_OP_FULLY_CONNECTED,
		     MB_LIST(o[0], o[1], o[2], mb_int32(&built, 0)), 1, &o[3]);
	built.pools[0] = pool;
	built.pools[1] = (struct nn_pool){ (void *)no_bias, bias_size };
	built.model.num_pools = 2;
}

/*
 * A kernel for one row of floats reads large weights directly from a pool, or from the data part of
 * a saved plan. The plan does not pack large weights for this kernel, because packing would delay
 * the first result.
 */
static void test_large_weights(void **state)
{
	static const struct {
		uint32_t rows, columns, depth;
		int32_t type;
		bool is_packed;
	} cases[] = {
		{ 1, 4096, 4096, NN_TENSOR_FLOAT32, false },
		{ 1, 4096, 4095, NN_TENSOR_FLOAT32, true },
		{ 2, 4096, 4096, NN_TENSOR_FLOAT32, true },
		{ 1, 16384, 4096, NN_TENSOR_QUANT8_ASYMM_SIGNED, true },
	};
	static const struct nn_plan_options interpreted = { .kernels = "none" };
	static float in[2 * 4096], right[2 * 4096], out[2 * 4096];
	const size_t size = (size_t)64 << 20;
	float *pool = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(pool != MAP_FAILED);
	/* Most weights are 0, and products with the other weights have exact sums. */
	for (size_t i = 0; i < size / sizeof(*pool); i += 4999)
		pool[i] = (float)(i % 7) - 3;
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		in[i] = (float)(i % 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint32_t element = cases[i].type == NN_TENSOR_FLOAT32 ? sizeof(float) : 1;
		const uint32_t rows = cases[i].rows, columns = cases[i].columns;
		const uint32_t depth = cases[i].depth;
		const struct nn_arg input = { .data = in, .length = rows * depth * element };
		struct nn_arg output = { .data = right, .length = rows * columns * element };
		struct nn_plan *plan, *loaded;
		struct nn_output_shape shape;
		struct nn_plan_memory memory;
		struct saved s;

		build_product(rows, columns, depth, cases[i].type, (struct nn_pool){ pool, size });
		plan = plan_built(&interpreted);
		assert_int_equal(run_args(plan, input, output, 0, &shape), NN_OK);
		nn_plan_free(plan);
		s = save_built();
		nn_plan_memory(s.plan, &memory);
		if (cases[i].is_packed != (memory.weights >= columns * depth * element))
			fail_msg("case %zu: %" PRIu64 " bytes are packed", i, memory.weights);
		loaded = load(&s);
		output.data = out;
		for (int k = 0; k < 2; k++) {
			memset(out, 0xee, sizeof(out));
			plan = k ? loaded : s.plan;
			assert_int_equal(run_args(plan, input, output, 0, &shape), NN_OK);
			assert_memory_equal(out, right, output.length);
		}
		nn_plan_free(loaded);
		free_saved(&s);
	}
	munmap(pool, size);
}

/*
 * Builds five products in a row, of which the first, second and last have the same weights and bias.
 * With `selects`, a SELECT of all elements precedes the products, which prevents the serialised form.
 */
static void build_repeated(uint32_t rows, bool selects)
{
	static const uint8_t all[6] = { 1, 1, 1, 1, 1, 1 };
	static const float weights[] = { 1, 1, 0, 1 }, biases[][2] = { { 0.5f, 0.25f }, { 1, 2 } };
	const uint32_t w = (mb_init(&built),
			    mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights), MB_DIMS(2, 2)));
	const uint32_t b = mb_constant(&built, NN_TENSOR_FLOAT32, biases[0], 8, MB_DIMS(2));
	const uint32_t other = mb_constant(&built, NN_TENSOR_FLOAT32, biases[1], 8, MB_DIMS(2));
	uint32_t x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(rows, 2));

	if (selects) {
		const uint32_t mask = mb_constant(&built, NN_TENSOR_BOOL8, all, sizeof(all), MB_DIMS(3, 2));
		const uint32_t selected = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(3, 2));

		mb_operation(&built, NN_OP_SELECT, MB_LIST(mask, x, x), MB_LIST(selected));
		x = selected;
	}
	for (int i = 0; i < 5; i++) {
		const uint32_t out = mb_operand(&built, NN_TENSOR_FLOAT32, i < 4 ? NN_TEMPORARY : NN_SUBGRAPH_OUTPUT,
						MB_DIMS(rows, 2));

		/* The third product has an activation, which changes nothing. */
		mb_operation(&built, NN_OP_FULLY_CONNECTED, MB_LIST(x, w, i == 3 ? other : b, mb_int32(&built, i == 2)),
			     MB_LIST(out));
		x = out;
	}
}

/* Products of the same weights use the same packed weights, also after the plan was saved. */
static void test_repeated_weights(void **state)
{
	static const bool is_first[] = { true, false, true, true, false };
	static const float right[] = { 18.25f, 5, 30.25f, 7, 42.25f, 9 };
	const struct nn_arg in = { .data = (void *)six, .length = sizeof(six), .rank = 2, .dims = { 3, 2 } };
	const struct nn_arg less = { .data = (void *)(six + 2), .length = 4 * sizeof(*six), .rank = 2,
				     .dims = { 2, 2 } };
	float out[6];
	struct nn_arg result = { .data = out, .length = sizeof(out) };
	static const struct nn_plan_options options;
	struct nn_output_shape shape;
	struct nn_plan *loaded;
	struct saved s;

	(void)state;
	for (uint32_t first = 0; first < 2; first++) {
		build_repeated(3, first);
		s = save_built();
		for (uint32_t i = 0; i < 5; i++) {
			const struct compiled_step *step = &s.plan->compiled->steps[first + i];

			assert_int_equal(step->packed_of, is_first[i] ? 0 : first + 1);
			assert_int_equal(step->ready.packed == s.plan->compiled->steps[first].ready.packed,
					 !i || !is_first[i]);
		}
		assert_int_equal(s.plan->compiled->packed_size,
				 3 * nn_kernel_aligned(s.plan->compiled->steps[first].ready.packed_size));
		assert_int_equal(run(s.plan, six, 6, out, 6), NN_OK);
		assert_memory_equal(out, right, sizeof(right));
		assert_int_equal(!((const struct saved_header *)s.image.model)->serial_size, first);
		loaded = load(&s);
		memset(out, 0, sizeof(out));
		assert_int_equal(run(loaded, six, 6, out, 6), NN_OK);
		assert_memory_equal(out, right, sizeof(right));
		nn_plan_free(loaded);
		free_saved(&s);
	}
	/* If the number of rows is unknown, the plans of all numbers share weights. */
	build_repeated(0, false);
	loaded = plan_built(&options);
	assert_int_equal(run_args(loaded, in, result, 0, &shape), NN_OK);
	assert_memory_equal(out, right, sizeof(right));
	result.length = 4 * sizeof(*out);
	assert_int_equal(run_args(loaded, less, result, 0, &shape), NN_OK);
	assert_memory_equal(out, right + 2, 4 * sizeof(*out));
	nn_plan_free(loaded);
}

/* ---- Deferred compiling, and tuning ---- */

/*
 * The first execution compiles a deferred plan. A deferred plan can be saved after its first
 * execution.
 */
static void test_lazy(void **state)
{
	const struct nn_plan_options options = { .lazy = true };
	struct nn_plan *plan, *loaded;
	struct nn_plan_memory memory;
	struct nn_plan_image image;
	struct nn_error err = { "" };
	struct saved s;
	float out[4];

	(void)state;
	build_mixed();
	plan = plan_built(&options);
	nn_plan_memory(plan, &memory);
	assert_int_equal(memory.weights, 0);
	assert_int_equal(nn_plan_stage(plan), NN_PLAN_PUT_OFF);
	assert_int_equal(nn_plan_save(plan, &image, &err), NN_GENERAL_FAILURE);
	assert_non_null(strstr(err.message, "not compiled yet"));
	assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	assert_int_equal(nn_plan_stage(plan), NN_PLAN_READY);
	nn_plan_memory(plan, &memory);
	assert_true(memory.weights > 0);
	s = save_plan(plan);
	loaded = load(&s);
	assert_int_equal(run(loaded, six, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	nn_plan_free(loaded);
	free_saved(&s);
}

/*
 * A plan is tuned after many executions. The settings found by tuning are saved and loaded with the
 * plan.
 */
static void check_tuned(const struct sample *sample, bool loaded)
{
	const struct nn_plan_options options = { .preference = 1 };
	struct saved_header *h;
	struct nn_plan *plan;
	uint32_t num_tuned;
	struct saved s;

	sample->build();
	plan = plan_built(&options);
	if (loaded) {
		s = save_plan(plan);
		assert_int_equal(nn_plan_load(s.image.model, s.image.model_size, s.data,
					      s.image.data_size, &options, &plan, NULL), NN_OK);
	}
	for (int i = 0; i < NN_PLAN_HOT + NN_PLAN_TUNING; i++) {
		assert_true(i > NN_PLAN_HOT || nn_plan_stage(plan) == NN_PLAN_READY);
		assert_right(sample, plan);
	}
	if (nn_plan_stage(plan) != NN_PLAN_TUNED) {
		nn_plan_free(plan);
		print_message("one CPU: nothing to be tuned\n");
		skip();
	}
	if (loaded) {
		struct saved before = s;

		s = save_plan(plan);
		assert_memory_equal(s.data, before.data, s.image.data_size);
		/*
		 * Free a loaded plan before the data part from which it was loaded, because the
		 * plan reads the data part.
		 */
		nn_plan_free(plan);
		s.plan = NULL;
		free_saved(&before);
	} else {
		s = save_plan(plan);
	}
	h = s.image.model;
	num_tuned = h->tuned_steps;
	assert_true(num_tuned > 0);
	plan = load(&s);
	/* A plan with the preference for low power has one thread and is not tuned. */
	assert_int_equal(nn_plan_stage(plan), NN_PLAN_READY);
	if (sample->is_serialised)
		assert_saved_again(&s, plan);
	nn_plan_free(plan);
	assert_int_equal(nn_plan_load(s.image.model, s.image.model_size, s.data,
				      s.image.data_size, &options, &plan, NULL), NN_OK);
	assert_int_equal(nn_plan_stage(plan), NN_PLAN_TUNED);
	assert_right(sample, plan);
	assert_saved_again(&s, plan);
	nn_plan_free(plan);

	((uint8_t *)s.image.model)[s.image.model_size - 1] = 2;
	assert_refused(&s, NN_GENERAL_FAILURE, "differs from what was saved");
	((uint8_t *)s.image.model)[s.image.model_size - 1] = 0;
	h->tuned_steps--;
	assert_refused(&s, NN_GENERAL_FAILURE, sample->is_serialised ? "header 0" :
						"wire form");
	h->tuned_steps = UINT32_MAX;
	assert_refused(&s, NN_GENERAL_FAILURE, "tuned steps");
	h->tuned_steps = num_tuned;
	h->serial_size = (uint32_t)(s.image.model_size - sizeof(*h)) - num_tuned + 1;
	assert_refused(&s, NN_GENERAL_FAILURE, "tuned steps");
	free_saved(&s);
}

static void test_tuned(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * NUM_SAMPLES; i++)
		check_tuned(&samples[i / 2], i % 2);
}

/* ---- Damaged plans that are refused ---- */

static struct saved_header *header_of(struct saved *s)
{
	return s->image.model;
}

static void spoil_magic(struct saved *s)
{
	header_of(s)->magic++;
}

static void spoil_format(struct saved *s)
{
	header_of(s)->magic--;
}

static void spoil_fingerprint(struct saved *s)
{
	header_of(s)->fingerprint++;
}

static void spoil_size(struct saved *s)
{
	header_of(s)->model_size++;
}

static void spoil_kernels(struct saved *s)
{
	strcpy(header_of(s)->kernels, "abacus");
}

static void spoil_kernels_end(struct saved *s)
{
	memset(header_of(s)->kernels, 'x', sizeof(header_of(s)->kernels));
}

static void spoil_packed(struct saved *s)
{
	header_of(s)->packed_size = s->image.data_size;
}

static void spoil_packed_less(struct saved *s)
{
	header_of(s)->packed_size -= 64;
}

static void spoil_packed_more(struct saved *s)
{
	header_of(s)->packed_size += 64;
}

static void spoil_choice(struct saved *s)
{
	header_of(s)->choice ^= 1;
}

static void spoil_data_size(struct saved *s)
{
	s->image.data_size -= NN_PLAN_DATA_ALIGN;
}

static void spoil_stamp(struct saved *s)
{
	((struct saved_stamp *)s->data)->identity++;
}

static void spoil_stamp_magic(struct saved *s)
{
	memset(s->data, 0, sizeof(struct saved_stamp));
}

static void spoil_wire(struct saved *s)
{
	((struct wire_header *)(header_of(s) + 1))->num_operands--;
}

/* Changes the saved plan's model so that the constant indices of GATHER lie in the data part. */
static void spoil_determining(struct saved *s)
{
	struct wire_header *h = (struct wire_header *)(header_of(s) + 1);
	uint64_t start[W_END + 1];
	struct wire_operand *operands;

	assert_true(wire_layout(h, start));
	operands = (struct wire_operand *)((char *)h + start[W_OPERANDS]);
	assert_int_equal(operands[1].type, NN_TENSOR_INT32);
	assert_int_equal(operands[1].lifetime, NN_CONSTANT_COPY);
	operands[1].lifetime = NN_CONSTANT_REFERENCE;
}

static void test_refused(void **state)
{
	static const struct {
		void (*spoil)(struct saved *s);
		const char *message;
	} cases[] = {
		{ spoil_magic, "are not a saved plan" },
		{ spoil_format, "are not a saved plan" },
		{ spoil_fingerprint, "another build" },
		{ spoil_size, "bytes, needs" },
		{ spoil_kernels, "does not run the kernels abacus" },
		{ spoil_kernels_end, "no name" },
		{ spoil_packed, "bytes of packed weights" },
		{ spoil_packed_less, "differs from what was saved" },
		{ spoil_packed_more, "differs from what was saved" },
		{ spoil_choice, "differs from what was saved" },
		{ spoil_data_size, "data has" },
		{ spoil_stamp, "the data belongs to another plan" },
		{ spoil_stamp_magic, "the data belongs to another plan" },
		{ spoil_wire, "wire form" },
		{ spoil_determining, "cannot be in the data" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct saved s;

		build_mixed();
		s = save_built();
		cases[i].spoil(&s);
		assert_refused(&s, NN_GENERAL_FAILURE, cases[i].message);
		free_saved(&s);
	}
}

/* Pointers to the parts of build_serialised()'s serialised plan. */
struct form {
	struct serial_header *head;
	struct serial_arg *args;
	struct serial_place *places;
	struct serial_step *steps[3];
};

static struct form form_of(struct saved *s)
{
	struct form f = { .head = (struct serial_header *)(header_of(s) + 1) };
	uint32_t *next;

	f.args = (struct serial_arg *)(f.head + 1);
	f.places = (struct serial_place *)(f.args + f.head->num_inputs + f.head->num_outputs);
	next = (uint32_t *)(f.places + f.head->num_places);
	assert_int_equal(f.head->num_steps, 3);
	for (int i = 0; i < 3; i++) {
		f.steps[i] = (struct serial_step *)next;
		next = form_words(f.steps[i]) + f.steps[i]->words;
	}
	return f;
}

static void spoil_arena(struct form f)
{
	f.head->arena_size = UINT64_MAX;
}

static void spoil_arena_less(struct form f)
{
	f.head->arena_size -= 64;
}

static void spoil_num_args(struct form f)
{
	f.head->num_inputs = f.head->num_outputs = UINT32_MAX;
}

static void spoil_num_places(struct form f)
{
	f.head->num_places = UINT32_MAX;
}

static void spoil_num_steps(struct form f)
{
	f.head->num_steps--;
}

static void spoil_packed_size(struct form f)
{
	((struct saved_header *)f.head - 1)->packed_size += NN_KERNEL_ALIGN;
}

static void spoil_num_steps_more(struct form f)
{
	f.head->num_steps++;
}

static void spoil_arg_type(struct form f)
{
	f.args[0].type = 0x10000;
}

static void spoil_arg_rank(struct form f)
{
	f.args[0].rank = NN_MAX_RANK + 1;
}

static void spoil_arg_size(struct form f)
{
	f.args[1].dims[0] = f.args[1].dims[1] = UINT32_MAX;
}

static void spoil_arg_small(struct form f)
{
	f.args[1].dims[1] = 2;
}

/* Replaces the floats of an argument by int8 numbers of the same size, which need no alignment. */
static void spoil_arg_align(struct form f)
{
	f.args[0].type = NN_TENSOR_QUANT8_ASYMM;
	f.args[0].dims[1] *= sizeof(float);
}

static void spoil_place_offset(struct form f)
{
	f.places[0].offset++;
}

/* Changes the plan so that an operand of 0 bytes lies in an argument that does not exist. */
static void spoil_place_arg(struct form f)
{
	f.places[0] = (struct serial_place){ .in = SERIAL_ARG + f.head->num_inputs + f.head->num_outputs };
}

static void spoil_place_in_arg(struct form f)
{
	f.places[0].in = SERIAL_ARG + f.head->num_inputs;
	f.places[0].offset = 1;
}

/* Changes the plan so that a step's output lies in an input argument. */
static void spoil_place_in_input(struct form f)
{
	f.places[0].in = SERIAL_ARG;
	f.places[0].offset = 0;
}

/* Changes the plan so that a step that does not read the input argument writes to it. */
static void spoil_result_in_input(struct form f)
{
	const uint32_t args = f.head->num_inputs + f.head->num_outputs;
	struct serial_place *place = &f.places[form_outputs(f.steps[1])[0] - args];

	place->in = SERIAL_ARG;
	place->offset = 0;
}

static void spoil_place_end(struct form f)
{
	f.places[0].offset = f.head->arena_size;
}

static void spoil_place_size(struct form f)
{
	f.places[0].size = 4;
}

static void spoil_place_stamp(struct form f)
{
	f.places[0].in = SERIAL_DATA;
	f.places[0].offset = 0;
}

static void spoil_kernel(struct form f)
{
	f.steps[0]->kernel = UINT16_MAX;
}

static void spoil_kernel_other(struct form f)
{
	f.steps[0]->kernel = f.steps[2]->kernel;
}

static void spoil_words(struct form f)
{
	f.steps[2]->words--;
}

static void spoil_words_many(struct form f)
{
	f.steps[2]->words = UINT16_MAX;
}

static void spoil_operand(struct form f)
{
	form_inputs(f.steps[1])[1] = f.head->num_inputs + f.head->num_outputs + f.head->num_places;
}

/*
 * Changes an ADD to have one operand; the plan's loader then reads the second operand's word as
 * state of the kernel.
 */
static void spoil_num_inputs(struct form f)
{
	f.steps[1]->num_inputs--;
	f.steps[1]->words++;
}

/*
 * Changes the last word of a convolution step, so that the step has to pack a filter that the step
 * lacks.
 */
static void spoil_packs(struct form f)
{
	form_words(f.steps[0])[f.steps[0]->words - 1] = 1;
}

static void spoil_no_output(struct form f)
{
	f.steps[0]->num_outputs--;
	f.steps[0]->num_inputs++;
}

static void spoil_num_inputs_most(struct form f)
{
	f.steps[0]->num_inputs = UINT16_MAX;
}

static void spoil_output_to_input(struct form f)
{
	form_outputs(f.steps[2])[0] = 0;
}

static void spoil_output_to_data(struct form f)
{
	form_outputs(f.steps[0])[0] = form_inputs(f.steps[1])[1];
}

static void spoil_overlap(struct form f)
{
	form_inputs(f.steps[1])[1] = form_outputs(f.steps[1])[0];
}

/* Adds 1 to the size of the image over which the convolution's windows move. */
static void spoil_image(struct form f)
{
	form_words(f.steps[0])[0]++;
}

static void spoil_all_words(struct form f)
{
	memset(form_words(f.steps[1]), 0xff, f.steps[1]->words * sizeof(uint32_t));
}

/* Changes a step to use its own packed weights as those of an earlier step. */
static void spoil_packed_of(struct form f)
{
	f.steps[0]->packed_of = 1;
}

static void spoil_packed_of_other(struct form f)
{
	f.steps[2]->packed_of = 1;
}

static void test_form_refused(void **state)
{
	static const struct {
		void (*spoil)(struct form f);
		const char *message;
	} cases[] = {
		{ spoil_arena, "header 0" },
		{ spoil_arena_less, "place" },
		{ spoil_num_args, "list 0" },
		{ spoil_num_places, "list 0" },
		{ spoil_num_steps, "step 2" },
		{ spoil_num_steps_more, "step 3" },
		{ spoil_packed_size, "step 3" },
		{ spoil_arg_type, "argument 0" },
		{ spoil_arg_rank, "argument 0" },
		{ spoil_arg_size, "argument 1" },
		{ spoil_arg_small, "step 2" },
		{ spoil_arg_align, "step 0" },
		{ spoil_place_offset, "step 0" },
		{ spoil_place_arg, "place 0" },
		{ spoil_place_in_arg, "place 0" },
		{ spoil_place_in_input, "step 0" },
		{ spoil_result_in_input, "step 1" },
		{ spoil_place_end, "place 0" },
		{ spoil_place_size, "step 0" },
		{ spoil_place_stamp, "place 0" },
		{ spoil_kernel, "step 0" },
		{ spoil_kernel_other, "step 0" },
		{ spoil_words, "step 2" },
		{ spoil_words_many, "step 2" },
		{ spoil_operand, "step 1" },
		{ spoil_num_inputs, "step 1" },
		{ spoil_num_inputs_most, "step 0" },
		{ spoil_no_output, "step 0" },
		{ spoil_packs, "step 0" },
		{ spoil_output_to_input, "step 2" },
		{ spoil_output_to_data, "step 0" },
		{ spoil_overlap, "step 1" },
		{ spoil_image, "step 0" },
		{ spoil_all_words, "step 1" },
		{ spoil_packed_of, "step 0" },
		{ spoil_packed_of_other, "step 2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct saved s;

		build_serialised();
		s = save_built();
		cases[i].spoil(form_of(&s));
		assert_refused(&s, NN_GENERAL_FAILURE, cases[i].message);
		free_saved(&s);
	}
}

/* A serialised plan is refused if it refers to weights in a data part that is missing. */
static void test_form_without_data(void **state)
{
	static const float weights[] = { 1, 0, 0, 1 }, bias[] = { 0, 0 };
	uint32_t x, w, c, one, out;
	struct saved s;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 3, 1, 2));
	w = mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights), MB_DIMS(2, 1, 1, 2));
	c = mb_constant(&built, NN_TENSOR_FLOAT32, bias, sizeof(bias), MB_DIMS(2));
	one = mb_int32(&built, 1);
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 3, 1, 2));
	mb_operation(&built, NN_OP_CONV_2D, MB_LIST(x, w, c, one, one, one, mb_int32(&built, 0)),
		     MB_LIST(out));
	s = save_built();
	assert_true(header_of(&s)->serial_size > 0);
	header_of(&s)->data_size = 0;
	s.image.data_size = 0;
	assert_refused(&s, NN_GENERAL_FAILURE, "bytes of packed weights do not fit 0 bytes of data");
	free_saved(&s);
}

static void check_cut_short(const struct sample *sample)
{
	struct nn_plan *plan;
	struct nn_error err;
	struct saved s;
	size_t size;

	sample->build();
	s = save_built();
	size = s.image.model_size;
	/*
	 * Loads the plan truncated to each length, from memory of exactly the truncated length, so
	 * that the sanitizer finds reads beyond the plan.
	 */
	for (size_t i = 0; i < size; i++) {
		void *whole = s.image.model;

		s.image.model = malloc(i ? i : 1);
		assert_non_null(s.image.model);
		memcpy(s.image.model, whole, i);
		s.image.model_size = i;
		assert_int_equal(load_with(&s, NULL, &plan, &err), NN_GENERAL_FAILURE);
		assert_true(err.message[0]);
		free(s.image.model);
		s.image.model = whole;
	}
	s.image.model_size = size;
	nn_plan_free(load(&s));
	free_saved(&s);
}

static void test_cut_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < NUM_SAMPLES; i++)
		check_cut_short(&samples[i]);
}

static void test_options(void **state)
{
	struct nn_plan_options options = { .preference = 3 };
	struct nn_plan *plan;
	struct nn_error err;
	struct saved s;

	(void)state;
	build_mixed();
	s = save_built();
	assert_int_equal(nn_plan_load(s.image.model, s.image.model_size, s.data,
				      s.image.data_size, &options, &plan, &err),
			 NN_INVALID_ARGUMENT);
	options = (struct nn_plan_options){ .deadline_ns = 1 };
	assert_int_equal(nn_plan_load(s.image.model, s.image.model_size, s.data,
				      s.image.data_size, &options, &plan, &err),
			 NN_MISSED_DEADLINE_PERSISTENT);
	options = (struct nn_plan_options){ 0 };
	assert_int_equal(nn_plan_load(s.image.model, s.image.model_size, s.data + 64,
				      s.image.data_size, &options, &plan, &err),
			 NN_INVALID_ARGUMENT);
	free_saved(&s);
}

/* ---- Effects of damage ---- */

/* If the data part changes while a plan is loaded, only values can change, but no addresses. */
static void test_noise(void **state)
{
	struct nn_plan *plan;
	struct saved s;
	float out[6];

	(void)state;
	for (size_t k = 0; k < NUM_SAMPLES; k++) {
		samples[k].build();
		s = save_built();
		plan = load(&s);
		for (uint32_t i = 0; i < 256; i++) {
			memset(s.data, (int)i, s.image.data_size);
			assert_int_equal(run(plan, six, 6, out, samples[k].count), NN_OK);
		}
		nn_plan_free(plan);
		free_saved(&s);
	}
}

/*
 * Flips each bit of the model part. A plan with a flipped bit must be refused, or access only its
 * own memory.
 */
static void check_all_bits(const struct sample *sample)
{
	uint32_t refused = 0, loaded = 0;
	struct nn_error err;
	struct saved s;
	float out[64];

	sample->build();
	s = save_built();
	for (size_t i = 0; i < s.image.model_size * 8; i++) {
		uint8_t *byte = (uint8_t *)s.image.model + i / 8;
		struct nn_plan *plan;

		*byte ^= 1 << i % 8;
		if (load_with(&s, NULL, &plan, &err)) {
			assert_true(err.message[0]);
			refused++;
		} else {
			run(plan, six, 6, out, 64);
			/* Runs the damaged plan with an output argument of length 0. */
			run(plan, six, 6, out, 0);
			nn_plan_free(plan);
			loaded++;
		}
		*byte ^= 1 << i % 8;
	}
	print_message("%u refused, %u loaded\n", refused, loaded);
	nn_plan_free(load(&s));
	free_saved(&s);
}

static void test_all_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < NUM_SAMPLES; i++)
		check_all_bits(&samples[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_parts),
		heap_unit_test(test_serialised),
		heap_unit_test(test_serialised_svdf),
		heap_unit_test(test_serialised_arguments),
		heap_unit_test(test_may_omit),
		heap_unit_test(test_save_again),
		heap_unit_test(test_control_flow),
		heap_unit_test(test_determining_inside),
		heap_unit_test(test_weights_of_runs),
		heap_unit_test(test_pieces),
		heap_unit_test(test_channels_of_an_argument),
		heap_unit_test(test_many_operands),
		heap_unit_test(test_no_data),
		heap_unit_test(test_adjacent),
		heap_unit_test(test_large_weights),
		heap_unit_test(test_repeated_weights),
		heap_unit_test(test_lazy),
		cmocka_unit_test(test_tuned),
		heap_unit_test(test_refused),
		heap_unit_test(test_form_refused),
		heap_unit_test(test_form_without_data),
		heap_unit_test(test_cut_short),
		heap_unit_test(test_options),
		heap_unit_test(test_noise),
		heap_unit_test(test_all_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
