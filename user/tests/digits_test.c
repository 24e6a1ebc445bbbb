/* SPDX-License-Identifier: MIT */
/*
 * Tests the network of the digits demo: training computes the stored weights, and the network reads
 * the demo's digits with every data type.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "ops/op.h"
#include "plan/plan.h"
#include "tests/between.h"
#include "tools/demo/net_model.h"
#include "tools/demo/image.h"
#include "tools/demo/train.h"
#include "tools/demo/weights.h"

#define IMAGES	500
#define MIN_RIGHT	(IMAGES * 95 / 100)
#define SEED		(TRAIN_SEED + 10)

static void test_same_seed_same_images(void **state)
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

/*
 * After the first training steps, the hash of the weights equals the hash that is stored with the
 * weights.
 */
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
	for (int i = 0; i < IMAGES; i++) {
		digit_draw(&r, &digit);
		net_forward(net_weights.params, digit.pixels, &values);
		right += net_answer(values.out[NET_LAYERS - 1]) == digit.label;
	}
	assert_between(right, MIN_RIGHT, IMAGES);
}

static int count_right(const struct net_model *net, const struct nn_plan *plan)
{
	float input[DIGITS_PIXELS], output[DIGITS_CLASSES], probability;
	struct nn_arg in = { .data = input, .length = net_model_input_size(net) };
	struct nn_arg out = { .data = output, .length = net_model_output_size(net) };
	struct random r = { SEED };
	int right = 0;

	for (int i = 0; i < IMAGES; i++) {
		struct nn_execution execution = {
			.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		};
		struct nn_error err = { "" };
		struct digit digit;

		digit_draw(&r, &digit);
		net_model_put_image(net, digit.pixels, input);
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
	assert_between(count_right(&net, plan), MIN_RIGHT, IMAGES);
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

/* Returns what images_print() prints for three images, two images in a row. */
static const char *print(const struct digit *digits, bool ascii)
{
	static const struct image_answer float32[] = { { 1, 0.5f }, { 2, 1 }, { 3, 0.004f } };
	static const struct image_answer quant8[] = { { 4, 0.25f }, { 5, 0.999f }, { 6, 0 } };
	static char out[32768];
	int saved = dup(STDOUT_FILENO), file = memfd_create("out", MFD_CLOEXEC);
	ssize_t size;

	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	images_print(digits, float32, quant8, 3, ascii);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	size = pread(file, out, sizeof(out) - 1, 0);
	close(file);
	out[size > 0 ? size : 0] = '\0';
	return out;
}

/*
 * The first two images are printed side by side with their texts, and the third image below the
 * first two.
 */
static void test_images_are_printed(void **state)
{
	static const char *const texts[] = {
		[4] = " is  7     ", [6] = " f32 1  50%", [7] = " q8  4  25%",
	}, *const others[] = {
		[4] = " is  8     ", [6] = " f32 2 100%", [7] = " q8  5 100%",
	};
	static struct digit digits[3] = { { .label = 7 }, { .label = 8 }, { .label = 9 } };
	char line[128], left[DIGITS_SIZE + 1], right[DIGITS_SIZE + 1];
	const char *out;

	(void)state;
	/*
	 * Image 0 has dark even rows, image 1 a light first column, and image 2 values at the
	 * threshold between light and dark.
	 */
	for (uint32_t i = 0; i < DIGITS_PIXELS; i++) {
		digits[0].pixels[i] = i / DIGITS_SIZE % 2 ? 0 : 255;
		digits[1].pixels[i] = i % DIGITS_SIZE ? 255 : 0;
		digits[2].pixels[i] = i / DIGITS_SIZE % 2 ? 101 : 100;
	}
	out = print(digits, true);
	memset(left, '=', DIGITS_SIZE);
	memset(right, '@', DIGITS_SIZE);
	right[0] = ' ';
	left[DIGITS_SIZE] = right[DIGITS_SIZE] = '\0';
	for (uint32_t row = 0; row < DIGITS_SIZE / 2; row++) {
		bool has_text = row < 8 && texts[row];

		snprintf(line, sizeof(line), "%s%s%s%s\n", left, has_text ? texts[row] : "           ",
			 right, has_text ? others[row] : "           ");
		assert_memory_equal(out, line, strlen(line));
		out += strlen(line);
	}
	assert_int_equal(*out++, '\n');
	/* The last row of printed images has only the third image. */
	assert_int_equal(strcspn(out, "\n"), DIGITS_SIZE + 11);
	assert_non_null(strstr(out, " is  9     \n"));
	assert_non_null(strstr(out, " f32 3   0%\n"));
	assert_string_equal(out + strlen(out) - 2, "\n\n");

	out = print(digits, false);
	/*
	 * Each printed character shows two pixels, one above the other. The upper pixel is dark in
	 * image 0, both pixels are dark in image 1, and the lower pixel is dark in image 2. Pixels
	 * with values of at least 101 are dark.
	 */
	assert_memory_equal(out, "\u2580\u2580", 6);
	assert_memory_equal(out + 3 * DIGITS_SIZE + 11, " \u2588\u2588", 7);
	assert_non_null(strstr(out, "\n\n\u2584\u2584"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_same_images),
		cmocka_unit_test(test_images_are_printed),
		cmocka_unit_test(test_weights_are_unchanged),
		cmocka_unit_test(test_training_is_reproducible),
		cmocka_unit_test(test_plain_forward_pass),
		cmocka_unit_test(test_float32_plan),
		cmocka_unit_test(test_quant8_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
