/* SPDX-License-Identifier: MIT */
/*
 * Saved plans: what is in which part, what is refused, and what damage does.
 * plan_diff_test saves and loads random graphs besides.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/wire.h"
#include "model_samples.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "plan/saved.h"

enum { ADD = 0, FULLY_CONNECTED = 9, MUL = 18, RESHAPE = 22, GATHER = 51 };

#define WEIGHT 1234.5f		/* by which weights are found in the parts */

static struct model_builder built;

/* A saved plan with a data part that can be written. */
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

/* Takes over a plan. */
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

/* ---- What is in which part ---- */

/*
 * out[2,2] = gather(x[3,2], {2, 0}) times a matrix of weights, reshaped to {2, 1 + 1}, plus
 * {1, 2} * {3, 4}: indices that steer, weights that are packed, a shape and a value that are
 * computed.
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
	mb_operation(&built, GATHER, MB_LIST(x, mb_int32(&built, 0), list), MB_LIST(gathered));
	w = mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights), MB_DIMS(2, 2));
	c = mb_constant(&built, NN_TENSOR_FLOAT32, bias, sizeof(bias), MB_DIMS(2));
	product = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2, 2));
	mb_operation(&built, FULLY_CONNECTED, MB_LIST(gathered, w, c, mb_int32(&built, 0)),
		     MB_LIST(product));
	f = mb_constant(&built, NN_TENSOR_INT32, first, sizeof(first), MB_DIMS(2));
	s = mb_constant(&built, NN_TENSOR_INT32, second, sizeof(second), MB_DIMS(2));
	shape = mb_operand(&built, NN_TENSOR_INT32, NN_TEMPORARY, MB_NONE);
	mb_operation(&built, ADD, MB_LIST(f, s, mb_int32(&built, 0)), MB_LIST(shape));
	reshaped = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_NONE);
	mb_operation(&built, RESHAPE, MB_LIST(product, shape), MB_LIST(reshaped));
	p = mb_constant(&built, NN_TENSOR_FLOAT32, a, sizeof(a), MB_DIMS(2));
	q = mb_constant(&built, NN_TENSOR_FLOAT32, b, sizeof(b), MB_DIMS(2));
	ab = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_NONE);
	mb_operation(&built, MUL, MB_LIST(p, q, mb_int32(&built, 0)), MB_LIST(ab));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 2));
	mb_operation(&built, ADD, MB_LIST(reshaped, ab, mb_int32(&built, 0)), MB_LIST(out));
}

static const float six[] = { 1, 2, 3, 4, 5, 6 };

/* x rows {5, 6}, {1, 2}: (a, b) -> (a + WEIGHT * b + 0.5, b + 0.25) + (3, 8). */
static const float mixed_right[] = {
	5 + WEIGHT * 6 + 3.5f, 14.25f, 1 + WEIGHT * 2 + 3.5f, 10.25f,
};

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

	plan = load(&s);
	/* Computed operations are gone: GATHER, FULLY_CONNECTED, RESHAPE and ADD are left. */
	assert_int_equal(nn_plan_model(plan)->subgraphs[0].num_operations, 4);
	assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	/* Arguments that are not aligned are for the interpreter, which needs all constants. */
	memcpy(odd + 1, six, sizeof(six));
	memset(out, 0, sizeof(out));
	assert_int_equal(run(plan, odd + 1, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	nn_plan_free(plan);
	assert_int_equal(load_with(&s, "none", &plan, &err), NN_OK);
	assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	nn_plan_free(plan);
	free_saved(&s);
}

/* A plan that was loaded is saved to the same parts. */
static void test_save_again(void **state)
{
	struct nn_plan_image image;
	struct nn_error err = { "" };
	struct nn_plan *plan;
	uint8_t *data;
	struct saved s;

	(void)state;
	build_mixed();
	s = save_built();
	plan = load(&s);
	assert_int_equal(nn_plan_save(plan, &image, &err), NN_OK);
	assert_int_equal(image.model_size, s.image.model_size);
	assert_memory_equal(image.model, s.image.model, image.model_size);
	assert_int_equal(image.data_size, s.image.data_size);
	data = malloc(image.data_size);
	assert_non_null(data);
	nn_plan_image_data(&image, data);
	assert_memory_equal(data, s.data, image.data_size);
	free(data);
	nn_plan_image_free(&image);
	nn_plan_free(plan);
	free_saved(&s);
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

/* ---- Late work ---- */

/* What is put off is done by the first execution, and saved from then on. */
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

/* A plan that was executed often measures itself; what it found is loaded with it. */
static void test_tuned(void **state)
{
	const struct nn_plan_options options = { .preference = 1 };
	struct saved_header *h;
	struct nn_plan *plan;
	struct saved s;
	float out[4];

	(void)state;
	build_mixed();
	plan = plan_built(&options);
	for (int i = 0; i < NN_PLAN_HOT + NN_PLAN_TUNING; i++) {
		assert_int_equal(nn_plan_stage(plan), NN_PLAN_READY);
		assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
		assert_memory_equal(out, mixed_right, sizeof(out));
	}
	if (nn_plan_stage(plan) != NN_PLAN_TUNED) {
		nn_plan_free(plan);
		print_message("one CPU: nothing to be tuned\n");
		skip();
	}
	s = save_plan(plan);
	h = s.image.model;
	assert_true(h->tuned_steps > 0);
	plan = load(&s);
	assert_int_equal(nn_plan_stage(plan), NN_PLAN_READY);	/* low power: of one thread */
	nn_plan_free(plan);
	assert_int_equal(nn_plan_load(s.image.model, s.image.model_size, s.data,
				      s.image.data_size, &options, &plan, NULL), NN_OK);
	assert_int_equal(nn_plan_stage(plan), NN_PLAN_TUNED);
	assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
	assert_memory_equal(out, mixed_right, sizeof(out));
	nn_plan_free(plan);

	((uint8_t *)s.image.model)[s.image.model_size - 1] = 2;
	assert_refused(&s, NN_GENERAL_FAILURE, "not what was saved");
	((uint8_t *)s.image.model)[s.image.model_size - 1] = 0;
	h->tuned_steps--;
	assert_refused(&s, NN_GENERAL_FAILURE, "wire form");
	h->tuned_steps = UINT32_MAX;
	assert_refused(&s, NN_GENERAL_FAILURE, "tuned steps");
	free_saved(&s);
}

/* ---- What is refused ---- */

static struct saved_header *header_of(struct saved *s)
{
	return s->image.model;
}

static void spoil_magic(struct saved *s)
{
	header_of(s)->magic++;
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

/* The indices of GATHER, in the data part: nothing else is wrong with that. */
static void spoil_steering(struct saved *s)
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
		{ spoil_magic, "not a saved plan" },
		{ spoil_fingerprint, "another build" },
		{ spoil_size, "bytes, not" },
		{ spoil_kernels, "does not run the kernels abacus" },
		{ spoil_kernels_end, "no name" },
		{ spoil_packed, "bytes of packed weights" },
		{ spoil_packed_less, "not what was saved" },
		{ spoil_packed_more, "not what was saved" },
		{ spoil_choice, "not what was saved" },
		{ spoil_data_size, "data has" },
		{ spoil_stamp, "the data is not this plan's" },
		{ spoil_stamp_magic, "the data is not this plan's" },
		{ spoil_wire, "wire form" },
		{ spoil_steering, "lies in the data" },
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

static void test_cut_short(void **state)
{
	struct nn_plan *plan;
	struct nn_error err;
	struct saved s;
	size_t size;

	(void)state;
	build_mixed();
	s = save_built();
	size = s.image.model_size;
	/* Each length in memory of that length, for the sanitizer. */
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

/* ---- What damage does ---- */

/* Only values change, whatever the data part becomes behind its stamp. */
static void test_noise(void **state)
{
	struct nn_plan *plan;
	struct saved s;
	float out[4];

	(void)state;
	build_mixed();
	s = save_built();
	plan = load(&s);
	for (uint32_t i = 0; i < 256; i++) {
		memset(s.data, (int)i, s.image.data_size);
		assert_int_equal(run(plan, six, 6, out, 4), NN_OK);
	}
	nn_plan_free(plan);
	free_saved(&s);
}

/* Whatever bit of a model part flips, it is refused or gives a plan that keeps its bounds. */
static void test_all_bits(void **state)
{
	uint32_t refused = 0, loaded = 0;
	struct nn_error err;
	struct saved s;
	float out[64];

	(void)state;
	build_mixed();
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
			nn_plan_free(plan);
			loaded++;
		}
		*byte ^= 1 << i % 8;
	}
	print_message("%u refused, %u loaded\n", refused, loaded);
	nn_plan_free(load(&s));
	free_saved(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_save_again),
		cmocka_unit_test(test_control_flow),
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_tuned),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_all_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
