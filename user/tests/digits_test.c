/* SPDX-License-Identifier: MIT */
/*
 * The demo's network: its weights are what training gives, and it knows its
 * digits in every form in which it runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"
#include "plan/plan.h"
#include "tests/between.h"
#include "tools/demo/net_model.h"
#include "tools/demo/train.h"
#include "tools/demo/weights.h"

#define PICTURES	500
#define MIN_RIGHT	(PICTURES * 95 / 100)
#define SEED		(TRAIN_SEED + 10)

static void test_same_seed_same_pictures(void **state)
{
	struct random a = { SEED }, b = { SEED }, other = { TRAIN_SEED };
	struct digit da, db, training;

	(void)state;
	for (int i = 0; i < 20; i++) {
		digit_draw(&a, &da);
		digit_draw(&b, &db);
		digit_draw(&other, &training);
		assert_int_equal(da.label, db.label);
		assert_memory_equal(da.pixels, db.pixels, sizeof(da.pixels));
		assert_memory_not_equal(da.pixels, training.pixels, sizeof(da.pixels));
	}
}

static void test_weights_are_unchanged(void **state)
{
	(void)state;
	assert_true(net_hash(net_weights.params) == net_weights.hash);
}

/* The first steps of the training, done again, lead where they did. */
static void test_training_is_reproducible(void **state)
{
	static float params[NET_PARAMS];

	(void)state;
	assert_true(train(TRAIN_PROBE, NULL, params));
	assert_true(net_hash(params) == net_weights.probe_hash);
}

static void test_plain_forward_pass(void **state)
{
	static struct net_values values;
	struct random r = { SEED };
	struct digit digit;
	int right = 0;

	(void)state;
	for (int i = 0; i < PICTURES; i++) {
		digit_draw(&r, &digit);
		net_forward(net_weights.params, digit.pixels, &values);
		right += net_answer(values.out[NET_LAYERS - 1]) == digit.label;
	}
	assert_between(right, MIN_RIGHT, PICTURES);
}

static int count_right(const struct net_model *net, const struct nn_plan *plan)
{
	float input[DIGITS_PIXELS], output[DIGITS_CLASSES], probability;
	struct nn_arg in = { .data = input, .length = net_model_input_size(net) };
	struct nn_arg out = { .data = output, .length = net_model_output_size(net) };
	struct random r = { SEED };
	int right = 0;

	for (int i = 0; i < PICTURES; i++) {
		struct nn_execution execution = {
			.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		};
		struct nn_error err = { "" };
		struct digit digit;

		digit_draw(&r, &digit);
		net_model_put_picture(net, digit.pixels, input);
		assert_int_equal(nn_plan_execute(plan, &execution, &err), NN_OK);
		right += net_model_answer(net, output, &probability) == digit.label;
	}
	return right;
}

static void run_plan(const struct net_quant *quant)
{
	static struct net_model net;
	struct nn_plan_options options = { .preference = 1 };
	struct nn_error err = { "" };
	struct nn_plan *plan;

	net_model_init(&net, net_weights.params, quant);
	nn_model_check(&net.model, &err);
	nn_ops_check_model(&net.model, NULL, &err);
	assert_string_equal(err.message, "");
	assert_int_equal(nn_plan_create(&net.model, &options, &plan, &err), NN_OK);
	assert_between(count_right(&net, plan), MIN_RIGHT, PICTURES);
	nn_plan_free(plan);
}

static void test_float32_plan(void **state)
{
	(void)state;
	run_plan(NULL);
}

static void test_quant8_plan(void **state)
{
	struct net_quant quant;

	(void)state;
	assert_true(net_calibrate(net_weights.params, &quant));
	run_plan(&quant);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_same_pictures),
		cmocka_unit_test(test_weights_are_unchanged),
		cmocka_unit_test(test_training_is_reproducible),
		cmocka_unit_test(test_plain_forward_pass),
		cmocka_unit_test(test_float32_plan),
		cmocka_unit_test(test_quant8_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
