/* SPDX-License-Identifier: MIT */
/*
 * Tests libnnaccel_tflite.so with a context that imitates TensorFlow Lite. The test needs no
 * TensorFlow Lite, and can run with the sanitizers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/tflite.h>
#include "clients/tflite/operations.h"
#include "nnapi_calls.h"
#include "tflite_play.h"
#include "tests/heap_blocks.h"

enum {
	ADD = 0, CONV_2D = 3, FULLY_CONNECTED = 9, L2_NORMALIZATION = 11, MUL = 18, RELU = 19, RESHAPE = 22,
	TANH = 28, CUSTOM = 32, GATHER = 36,
	TRANSPOSE = 39, STRIDED_SLICE = 45, CAST = 53, ARG_MAX = 56, PAD_V2 = 60, SHAPE = 77, FLOOR_DIV = 90,
	IMAG = 133,
};

static char said[256];

static void hear(const char *text)
{
	snprintf(said, sizeof(said), "%s", text);
}

static struct tfl_delegate *delegate(void)
{
	char *names[] = { "device", "min_work" }, *values[] = { "nnapi-reference", "0" };
	struct tfl_delegate *d = tflite_plugin_create_delegate(names, values, 2, hear);

	assert_non_null(d);
	return d;
}

/* Makes a graph that computes (a + b) * b of 2 * 3 floats. */
static struct world *sum_and_product(void)
{
	static const int dims[] = { 2, 3 };
	struct world *w = world();

	for (int i = 0; i < 4; i++)
		tensor(w, TFL_FLOAT32, 2, dims);
	node(w, ADD, 0, 1, 2);
	node(w, MUL, 2, 1, 3);
	for (int i = 0; i < 12; i++) {
		((float *)w->data[0])[i] = (float)i;
		((float *)w->data[1])[i] = 2;
	}
	return w;
}

static void run(struct world *w)
{
	for (int i = 0; i < w->num_kernels; i++) {
		assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[i]), TFL_OK);
		assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[i]), TFL_OK);
	}
}

static void expect(const struct world *w, int count)
{
	for (int i = 0; i < count; i++)
		assert_float_equal(((const float *)w->data[3])[i], ((float)i + 2) * 2, 1e-6);
}

static void test_options(void **state)
{
	char *names[] = { "colour" }, *values[] = { "red" };

	(void)state;
	assert_null(tflite_plugin_create_delegate(names, values, 1, hear));
	assert_non_null(strstr(said, "colour"));
	names[0] = "device";
	assert_null(tflite_plugin_create_delegate(names, values, 1, hear));
	assert_non_null(strstr(said, "no device \"red\""));
	tflite_plugin_destroy_delegate(NULL);
}

/* ---- Shapes that follow from values ---- */

/*
 * The state of the imitated RESHAPE and RELU of TensorFlow Lite; num_invoked counts the nodes that
 * TensorFlow Lite computes.
 */
static int num_invoked;
static int num_compiled;		/* number of models that were compiled for the device */
static int32_t nnapi_refused_type = -1;
static bool is_blind;			/* true: RESHAPE gets its shape only in the run */

static int resize_as(struct tfl_context *context, int out, int rank, const int *sizes)
{
	struct tfl_ints *dims = malloc(sizeof(*dims) + (size_t)rank * sizeof(int));

	assert_non_null(dims);
	dims->size = rank;
	memcpy(dims->data, sizes, (size_t)rank * sizeof(int));
	return context->resize_tensor(context, &context->tensors[out], dims);
}

static int prepare_deferred(struct tfl_context *context, struct tfl_node *n)
{
	const struct tfl_tensor *shape = &context->tensors[n->inputs->data[1]];
	struct tfl_tensor *out = &context->tensors[n->outputs->data[0]];

	if (shape->allocation_type == TFL_READ_ONLY && !is_blind)
		return resize_as(context, n->outputs->data[0], shape->dims->data[0], shape->contents);
	if (out->allocation_type != TFL_DYNAMIC)
		out->contents = NULL;
	out->allocation_type = TFL_DYNAMIC;
	return TFL_OK;
}

static int invoke_deferred(struct tfl_context *context, struct tfl_node *n)
{
	const struct tfl_tensor *x = &context->tensors[n->inputs->data[0]];
	const struct tfl_tensor *shape = &context->tensors[n->inputs->data[1]];
	struct tfl_tensor *out = &context->tensors[n->outputs->data[0]];

	resize_as(context, n->outputs->data[0], shape->dims->data[0], shape->contents);
	num_invoked++;
	if (out->bytes != x->bytes)
		return TFL_ERROR;
	memcpy(out->contents, x->contents, x->bytes);
	return TFL_OK;
}

static int prepare_like(struct tfl_context *context, struct tfl_node *n)
{
	const struct tfl_ints *dims = context->tensors[n->inputs->data[0]].dims;

	return resize_as(context, n->outputs->data[0], dims->size, dims->data);
}

static int invoke_relu(struct tfl_context *context, struct tfl_node *n)
{
	const struct tfl_tensor *x = &context->tensors[n->inputs->data[0]];

	num_invoked++;
	for (size_t i = 0; i < x->bytes / 4; i++)
		((float *)context->tensors[n->outputs->data[0]].contents)[i] =
			((float *)x->contents)[i] > 0 ? ((float *)x->contents)[i] : 0;
	return TFL_OK;
}

/*
 * Builds a RELU after a RESHAPE of 12 floats; the RESHAPE's shape is an input. TensorFlow Lite does
 * not know the shapes of the outputs of RESHAPE and RELU.
 */
static struct world *reshaped(void)
{
	static const int twelve[] = { 12 }, two[] = { 2 }, one[] = { 1, 1 };
	struct world *w = world();

	tensor(w, TFL_FLOAT32, 1, twelve);
	tensor(w, TFL_INT32, 1, two);
	tensor(w, TFL_FLOAT32, 2, one);
	tensor(w, TFL_FLOAT32, 2, one);
	node(w, RESHAPE, 0, 1, 2);
	node(w, RELU, 2, -2, 3);
	w->registrations[0].prepare = prepare_deferred;
	w->registrations[0].invoke = invoke_deferred;
	w->registrations[1].prepare = prepare_like;
	w->registrations[1].invoke = invoke_relu;
	append(&w->unread, 2);
	for (int i = 0; i < 12; i++)
		((float *)w->data[0])[i] = (float)(i % 2 ? -i : i);
	return w;
}

/*
 * Runs the graph with the shape [a, b]. Checks that TensorFlow Lite's own kernels compute `invoked`
 * nodes.
 */
static void run_reshaped(struct world *w, int a, int b, int invoked)
{
	const int last = w->num_tensors - 1;
	const struct tfl_tensor *y = &w->tensors[last];

	((int *)w->data[1])[0] = a;
	((int *)w->data[1])[1] = b;
	memset(w->data[last], 0xff, 48);
	num_invoked = 0;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_OK);
	assert_int_equal(num_invoked, invoked);
	assert_int_equal(y->allocation_type, TFL_DYNAMIC);
	assert_int_equal(w->tensors[1].allocation_type, 2);
	assert_int_equal(y->dims->size, 2);
	assert_int_equal(y->dims->data[0], a);
	assert_int_equal(y->dims->data[1], b);
	for (int i = 0; i < 12; i++)
		assert_float_equal(((const float *)y->contents)[i], (i % 2 ? 0 : i), 0);
}

static struct world *take_reshaped(struct tfl_delegate *d, struct world *w)
{
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	w->kernels[0].inputs = (struct tfl_ints *)&w->parts[0][1];
	w->kernels[0].outputs = (struct tfl_ints *)&w->parts[0][2];
	assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[0]), TFL_OK);
	assert_int_equal(w->tensors[w->num_tensors - 1].allocation_type, TFL_DYNAMIC);
	assert_null(w->tensors[w->num_tensors - 1].contents);
	return w;
}

static void test_shapes_of_values(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = take_reshaped(d, reshaped());

	(void)state;
	run_reshaped(w, 3, 4, 0);
	run_reshaped(w, 3, 4, 0);
	run_reshaped(w, 6, 2, 0);
	/* A kernel that is prepared a second time must keep its state. */
	assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[0]), TFL_OK);
	run_reshaped(w, 6, 2, 0);
	/*
	 * An invocation fails if the shape does not match 12 floats; the next invocation succeeds.
	 */
	((int *)w->data[1])[0] = 7;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_ERROR);
	run_reshaped(w, 12, 1, 0);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/*
 * If the shape is in a buffer of the delegate, the tensor's own memory may have an older shape.
 * The delegate copies the buffer to the tensor, and TensorFlow Lite's kernels compute the nodes.
 */
static void test_shapes_in_buffers(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = take_reshaped(d, reshaped());
	int fd = memfd_create("buffer", 0);

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	w->tensors[1].delegate = d;
	w->tensors[1].buffer_handle =
		nnaccel_tflite_add_buffer((struct TfLiteDelegate *)d, fd, 2 * sizeof(int), 0);
	assert_true(w->tensors[1].buffer_handle >= 0);
	for (int rows = 3; rows <= 6; rows += 3) {
		const int shape[] = { rows, 12 / rows };

		assert_int_equal(pwrite(fd, shape, sizeof(shape), 0), sizeof(shape));
		memcpy(w->data[1], (const int[]){ 2, 6 }, sizeof(shape));
		num_invoked = 0;
		assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_OK);
		assert_int_equal(num_invoked, 2);
		assert_int_equal(w->tensors[3].dims->data[0], rows);
		assert_int_equal(w->tensors[3].dims->data[1], 12 / rows);
		for (int i = 0; i < 12; i++)
			assert_float_equal(((const float *)w->tensors[3].contents)[i], (i % 2 ? 0 : i), 0);
	}
	destroy(w);
	tflite_plugin_destroy_delegate(d);
	close(fd);
}

/*
 * After eight compilations in fewer than 16 runs, the delegate compiles for no more shapes, so
 * TensorFlow Lite computes the runs with new shapes.
 */
static void test_shapes_that_change_often(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = take_reshaped(d, reshaped());

	(void)state;
	for (int i = 0; i < 8; i++)
		run_reshaped(w, i % 2 ? 3 : 4, i % 2 ? 4 : 3, 0);
	run_reshaped(w, 6, 2, 2);
	run_reshaped(w, 6, 2, 2);
	destroy(w);
	w = take_reshaped(d, reshaped());
	for (int i = 0; i < 32; i++)
		run_reshaped(w, i / 2 % 2 ? 3 : 4, i / 2 % 2 ? 4 : 3, 0);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* If a shape is still unknown after the nodes were prepared, TensorFlow Lite computes the nodes. */
static void test_late_nodes_that_stay(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = take_reshaped(d, reshaped());

	(void)state;
	run_reshaped(w, 4, 3, 0);
	is_blind = true;
	run_reshaped(w, 6, 2, 2);
	run_reshaped(w, 6, 2, 2);
	is_blind = false;
	run_reshaped(w, 3, 4, 0);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/*
 * Adds two nodes to the graph of reshaped(). If bit i of `mask` is set, for i from 1 to 3, node i
 * gets the operation `code`.
 */
static struct world *reshaped_and_more(int mask, int code, int activation)
{
	static const int one[] = { 1, 1 };
	struct world *w = reshaped();

	for (int i = 1; i <= 3; i++) {
		if (i > 1) {
			append(&w->unread, w->num_tensors - 1);
			tensor(w, TFL_FLOAT32, 2, one);
			node(w, RELU, i + 1, -2, i + 2);
			w->registrations[i] = w->registrations[1];
		}
		w->registrations[i].builtin_code = mask >> i & 1 ? code : RELU;
		w->params[i][0] = activation;
	}
	return w;
}

/*
 * TensorFlow Lite computes only the nodes that the translator or the NNAPI refuses; the device
 * computes all other nodes. In this test TensorFlow Lite uses the kernels of RELU for all nodes
 * except RESHAPE.
 */
static void test_late_nodes_that_are_refused(void **state)
{
	struct tfl_delegate *d = delegate();

	(void)state;
	for (int mask = 2; mask < 16; mask += 2)
		for (int by_nnapi = 0; by_nnapi < 2; by_nnapi++) {
			const int refused = __builtin_popcount((unsigned int)mask);
			/* The delegate compiles consecutive nodes of the device as one model. */
			const int accepted = 15 & ~mask;
			const int models = __builtin_popcount((unsigned int)(accepted & ~(accepted << 1)));
			struct world *w = take_reshaped(d, reshaped_and_more(
				mask, by_nnapi ? TANH : L2_NORMALIZATION, TFL_ACT_RELU));

			nnapi_refused_type = by_nnapi ? ANEURALNETWORKS_TANH : -1;
			num_compiled = 0;
			run_reshaped(w, 3, 4, refused);
			assert_int_equal(num_compiled, models);
			run_reshaped(w, 3, 4, refused);
			run_reshaped(w, 6, 2, refused);
			assert_int_equal(num_compiled, 2 * models);
			nnapi_refused_type = -1;
			destroy(w);
		}
	tflite_plugin_destroy_delegate(d);
}

/* If a name in `cases` begins with ONE_THREAD, the interpreter has one thread. */
#define ONE_THREAD "1"

/*
 * Tests the options of the delegate under the delegate's names and under the names that TensorFlow
 * Lite's tools use.
 */
static void test_calls(void **state)
{
	static const struct {
		const char *name, *value, *calls;
	} cases[] = {
		{ "device", "nnapi-reference", NNAPI_SET(1, 1, 100) NNAPI_IN_BURST },
		{ "accelerator_name", "nnapi-reference",
		  NNAPI_SET(1, 1, 100) NNAPI_IN_BURST },
		{ "verbosity", "0", NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "preference", "low_power", NNAPI_SET(any, 0, 100) NNAPI_IN_BURST },
		{ "execution_preference", "sustained_speed",
		  NNAPI_SET(any, 2, 100) NNAPI_IN_BURST },
		{ "preference", "fast_single_answer",
		  NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "num_threads", "1", NNAPI_SET(any, 257, 100) NNAPI_IN_BURST },
		{ "num_threads", "2", NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ ONE_THREAD "verbosity", "0", NNAPI_SET(any, 257, 100) NNAPI_IN_BURST },
		{ ONE_THREAD "num_threads", "2", NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "priority", "low", NNAPI_SET(any, 1, 90) NNAPI_IN_BURST },
		{ "priority", "MEDIUM", NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "execution_priority", "high",
		  NNAPI_SET(any, 1, 110) NNAPI_IN_BURST },
		{ "allow_fp16", "1", "relaxed 1, " NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "allow_fp16_precision_for_fp32", "yes",
		  "relaxed 1, " NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "allow_fp16", "TRUE", "relaxed 1, " NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "allow_fp16", "on", "relaxed 1, " NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
		{ "burst", "0", NNAPI_SET(any, 1, 100) "run, run, " },
		{ "burst", "no", NNAPI_SET(any, 1, 100) "run, run, " },
		{ "burst", "off", NNAPI_SET(any, 1, 100) "run, run, " },
		{ "use_burst_mode", "false", NNAPI_SET(any, 1, 100) "run, run, " },
		{ "cache_dir", "/tmp/nnaccel-no-such",
		  NNAPI_SET(any, 1, 100) "cache /tmp/nnaccel-no-such, " NNAPI_IN_BURST },
		{ "cache_directory", "/tmp/nnaccel-no-such",
		  NNAPI_SET(any, 1, 100) "cache /tmp/nnaccel-no-such, " NNAPI_IN_BURST },
		{ "cache_directory", "", NNAPI_SET(any, 1, 100) NNAPI_IN_BURST },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool is_one = *cases[i].name == *ONE_THREAD;
		char *name = (char *)cases[i].name + is_one, *value = (char *)cases[i].value;
		struct tfl_delegate *d = tflite_plugin_create_delegate(&name, &value, 1, hear);
		struct world *w = sum_and_product();

		assert_non_null(d);
		w->context.threads = is_one ? 1 : -1;
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		assert_int_equal(w->num_kernels, 1);
		nnapi_calls[0] = '\0';
		run(w);
		run(w);
		assert_string_equal(nnapi_calls, cases[i].calls);
		expect(w, 6);
		destroy(w);
		tflite_plugin_destroy_delegate(d);
	}
}

/*
 * If the engine died, the delegate compiles the model once more. The delegate returns all failures
 * except the engine's death to the caller.
 */
static void test_failures(void **state)
{
	const int dead = ANEURALNETWORKS_DEAD_OBJECT;
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();

	(void)state;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	run(w);
	for (int result = 1; result <= dead + 1; result++) {
		nnapi_failing.times = 1 + (result == dead);
		nnapi_failing.result = result;
		nnapi_calls[0] = '\0';
		assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
		assert_non_null(strstr(w->error, "nnaccel: cannot execute: "));
		assert_non_null(strstr(w->error, result > dead ? "an unknown result" :
				       nnapi_results[result]));
		assert_string_equal(nnapi_calls, result != dead ? "run in it, " :
				    "run in it, " NNAPI_SET(1, 1, 100) "burst, run in it, ");
	}
	nnapi_failing.times = 1;
	nnapi_failing.result = dead;
	memset(w->data[3], 0, 24);
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_OK);
	expect(w, 6);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* The plug-in refuses invalid options with a reason. */
static void test_wrong_options(void **state)
{
	static const struct {
		const char *name, *value, *why;
	} cases[] = {
		{ NULL, NULL, "there is no option \"\"" },
		{ "verbosity", NULL, "option verbosity: \"\" is not" },
		{ "verbosity", "-1",
		 "option verbosity: \"-1\" is not a number from 0 to 2147483647" },
		{ "verbosity", "2147483648", "option verbosity" },
		{ "verbosity", "99999999999999999999", "option verbosity" },
		{ "num_threads", "0",
		 "option num_threads: \"0\" is not a number from 1 to 2147483647" },
		{ "min_work", "4x", "option min_work" },
		{ "min_work", "/", "option min_work" },
		{ "min_work", ":", "option min_work" },
		{ "max_partitions", " 4", "option max_partitions" },
		{ "max_shapes", "4", "there is no option \"max_shapes\"" },
		{ "burst", "2", "option burst: \"2\" is not 0 or 1" },
		{ "priority", "lowest", "option priority: \"lowest\" is not low, medium or high" },
		{ "disallow_cpu", "1", "no device but the CPU: there is nnapi-reference" },
		{ "disallow_nnapi_cpu", "true", "no device but the CPU: there is nnapi-reference" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = (char *)cases[i].name, *value = (char *)cases[i].value;

		said[0] = '\0';
		assert_null(tflite_plugin_create_delegate(name ? &name : NULL, value ? &value : NULL, 1,
							  hear));
		assert_non_null(strstr(said, cases[i].why));
	}
	assert_null(tflite_plugin_create_delegate((char *[]){ "device", "disallow_cpu" },
						  (char *[]){ "nnapi-reference", "1" }, 2, hear));
	assert_non_null(strstr(said, "no device \"nnapi-reference\" that is not the CPU"));
}

/*
 * A program without an error function, such as TensorFlow Lite's own loader, gets a delegate even
 * if an option is invalid.
 */
static void test_wrong_option_without_reporter(void **state)
{
	char *names[] = { "device" }, *values[] = { "red" };
	struct tfl_delegate *d = tflite_plugin_create_delegate(names, values, 1, NULL);
	struct world *w = sum_and_product();

	(void)state;
	assert_non_null(d);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 0);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

static void test_whole_graph(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();

	(void)state;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	run(w);
	expect(w, 6);
	/*
	 * Run the unchanged graph again, and then with another shape and another address of an
	 * input.
	 */
	run(w);
	expect(w, 6);
	for (int i = 0; i < 4; i++) {
		w->dims[i].data[0] = 4;
		w->tensors[i].bytes = size_of(&w->tensors[i]);
	}
	run(w);
	expect(w, 12);
	memcpy(w->data[5], w->data[0], 48);
	memset(w->data[0], 0, 48);
	w->tensors[0].contents = w->data[5];
	run(w);
	expect(w, 12);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* After a run with an invalid shape has failed, a run with a valid shape succeeds. */
static void test_bad_shape_between(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();

	(void)state;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	for (int i = 0; i < 2; i++) {
		run(w);
		expect(w, 6);
		w->dims[0].data[1] = -i;
		for (int k = 0; k < 2; k++)
			assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[0]),
					 TFL_DELEGATE_ERROR);
		assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
		w->dims[0].data[1] = 3;
	}
	run(w);
	expect(w, 6);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* ---- Devices and an NNAPI that refuse ---- */

static struct {
	int refused;	/* index of an operation that no device supports, or -1 */
	int result;			/* result of queries for supported operations */
	/*
	 * Maximum number of operations in a model that the imitated NNAPI accepts; 0: any number.
	 */
	int most;
	int operations;			/* number of operations in the last model */
	int from_memory;		/* number of constants that are in a memory */
	int compiled;			/* result of compilations; 0: the real result */
} nnapi = { .refused = -1 };

int ANeuralNetworksModel_getSupportedOperationsForDevices(const ANeuralNetworksModel *model,
							  const ANeuralNetworksDevice *const *devices,
							  uint32_t count, bool *supported)
{
	int (*next)(const ANeuralNetworksModel *, const ANeuralNetworksDevice *const *, uint32_t,
		    bool *);
	int result;

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	result = next(model, devices, count, supported);
	if (nnapi.refused >= 0)
		supported[nnapi.refused] = false;
	return nnapi.result ? nnapi.result : result;
}

int ANeuralNetworksModel_create(ANeuralNetworksModel **model)
{
	int (*next)(ANeuralNetworksModel **);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	nnapi.operations = 0;
	return next(model);
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model, ANeuralNetworksOperationType type,
				      uint32_t in_count, const uint32_t *in, uint32_t out_count,
				      const uint32_t *out)
{
	int (*next)(ANeuralNetworksModel *, ANeuralNetworksOperationType, uint32_t, const uint32_t *,
		    uint32_t, const uint32_t *);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	nnapi.operations++;
	return type == nnapi_refused_type ? ANEURALNETWORKS_BAD_DATA :
	       next(model, type, in_count, in, out_count, out);
}

int ANeuralNetworksModel_finish(ANeuralNetworksModel *model)
{
	int (*next)(ANeuralNetworksModel *);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	return nnapi.most && nnapi.operations > nnapi.most ? ANEURALNETWORKS_BAD_DATA : next(model);
}

int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
						   const ANeuralNetworksMemory *memory, size_t offset,
						   size_t length)
{
	int (*next)(ANeuralNetworksModel *, int32_t, const ANeuralNetworksMemory *, size_t, size_t);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	nnapi.from_memory++;
	return next(model, index, memory, offset, length);
}

int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation)
{
	int (*next)(ANeuralNetworksCompilation *);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	num_compiled++;
	return nnapi.compiled ? nnapi.compiled : next(compilation);
}

/* If a shape has no elements, the run fails, but the delegate does not divide the partition. */
static void test_late_shape_without_elements(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = take_reshaped(d, reshaped());

	(void)state;
	((int *)w->data[1])[0] = 0;
	((int *)w->data[1])[1] = 4;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_ERROR);
	run_reshaped(w, 3, 4, 0);
	assert_int_equal(nnapi.operations, 2);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/*
 * If the compilation fails, the delegate asks for each node whether the device supports it. The
 * delegate divides the partition at a refused node. If the device does not answer, the delegate
 * does not divide the partition.
 */
static void test_late_compilation_fails(void **state)
{
	struct tfl_delegate *d = delegate();

	(void)state;
	for (int answers = 0; answers < 2; answers++) {
		struct world *w = take_reshaped(d, reshaped());

		nnapi.compiled = ANEURALNETWORKS_OP_FAILED;
		nnapi.result = answers ? 0 : ANEURALNETWORKS_OP_FAILED;
		nnapi.refused = 0;
		num_compiled = 0;
		run_reshaped(w, 3, 4, 2);
		assert_int_equal(num_compiled, answers ? 3 : 1);
		nnapi.compiled = nnapi.result = 0;
		nnapi.refused = -1;
		destroy(w);
	}
	tflite_plugin_destroy_delegate(d);
}

static void test_compilation_fails(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();

	(void)state;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	nnapi.compiled = ANEURALNETWORKS_OP_FAILED;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
		assert_string_equal(w->error, "nnaccel: cannot compile: OP_FAILED");
		assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	}
	nnapi.compiled = 0;
	run(w);
	expect(w, 6);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

static void test_refusals(void **state)
{
	static const struct {
		int refused, result, most, kernels, first;
	} cases[] = {
		{ -1, 0, 0, 1, 0 },
		{ 0, 0, 0, 1, 1 },				/* TensorFlow Lite computes MUL */
		{ 1, 0, 0, 1, 0 },				/* TensorFlow Lite computes ADD */
		{ -1, ANEURALNETWORKS_OP_FAILED, 0, 0, 0 },
		{ -1, 0, 1, 0, 0 },				/* NNAPI accepts one operation */
		{ -1, 0, 2, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tfl_delegate *d = delegate();
		struct world *w = sum_and_product();

		nnapi.refused = cases[i].refused;
		nnapi.result = cases[i].result;
		nnapi.most = cases[i].most;
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		assert_int_equal(w->num_kernels, cases[i].kernels);
		if (cases[i].kernels) {
			assert_int_equal(w->parts[0][0].size, cases[i].refused < 0 ? 2 : 1);
			assert_int_equal(w->parts[0][0].data[0], cases[i].first);
		}
		destroy(w);
		tflite_plugin_destroy_delegate(d);
	}
	nnapi.refused = -1;
	nnapi.result = nnapi.most = 0;
}

/*
 * The delegate leaves the smallest parts beyond max_partitions to TensorFlow Lite; 0 allows any
 * number of parts.
 */
static void test_max_partitions(void **state)
{
	static const struct {
		char *most;
		int kernels, first;
	} cases[] = { { "0", 3, 0 }, { "3", 3, 0 }, { "2", 2, 2 }, { "1", 1, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *names[] = { "max_partitions", "min_work" }, *values[] = { cases[i].most, "0" };
		struct tfl_delegate *d = tflite_plugin_create_delegate(names, values, 2, hear);
		struct world *w = world();

		for (int t = 0; t < 6; t++)
			tensor(w, TFL_FLOAT32, 1, (const int[]){ 2 + t });
		/*
		 * The graph, which the test does not run, has RELU and IMAG in turn, so that each
		 * RELU is a part.
		 */
		for (int t = 0; t < 5; t++)
			node(w, t % 2 ? IMAG : RELU, t, -2, t + 1);
		for (int t = 1; t < 6; t++)
			w->dims[t].data[0] = 2 + t / 2;
		w->dims[0].data[0] = 2;
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		assert_int_equal(w->num_kernels, cases[i].kernels);
		assert_int_equal(w->parts[0][0].data[0], cases[i].first);
		destroy(w);
		tflite_plugin_destroy_delegate(d);
	}
}

/*
 * The graph is a product and a node that the delegate leaves to TensorFlow Lite. By default a
 * product is delegated if its work is at least 4,096.
 */
static void test_usual_work(void **state)
{
	static const struct {
		int rows, inner, kernels;
	} cases[] = { { 64, 63, 1 }, { 65, 62, 0 } };
	static float zeros[65 * 64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = "verbosity", *value = "0";
		struct tfl_delegate *d = tflite_plugin_create_delegate(&name, &value, 1, hear);
		struct world *w = world();

		tensor(w, TFL_FLOAT32, 2, (const int[]){ 1, cases[i].inner });
		tensor(w, TFL_FLOAT32, 2, (const int[]){ cases[i].rows, cases[i].inner });
		w->tensors[1].contents = zeros;
		w->tensors[1].allocation_type = TFL_READ_ONLY;
		for (int t = 0; t < 2; t++)
			tensor(w, TFL_FLOAT32, 2, (const int[]){ 1, cases[i].rows });
		node(w, FULLY_CONNECTED, 0, 1, 2);
		node(w, IMAG, 2, -2, 3);
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		assert_int_equal(w->num_kernels, cases[i].kernels);
		destroy(w);
		tflite_plugin_destroy_delegate(d);
	}
}

/* ---- Constants of a file ---- */

/*
 * REPLACED: the kernel shows the path of the removed file with " (deleted)" at the end, and another
 * file has this path. CHANGED: the mapping is private and writable.
 */
enum mapped { MAPPED, UNLINKED, REPLACED, CHANGED };

/* Tests the graph x + constant, whose constant is at an offset of a mapped file. */
static void constant_of_file(size_t offset, size_t size, enum mapped how)
{
	const int dims[] = { (int)(size / sizeof(float)) };
	char path[] = "/tmp/nnaccel-tflite-XXXXXX", other[64];
	struct tfl_delegate *d = delegate();
	struct world *w = world();
	int fd = mkstemp(path);
	float *data;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(offset + size)), 0);
	data = mmap(NULL, offset + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	for (size_t i = 0; i < (offset + size) / sizeof(float); i++)
		data[i] = (float)i;
	munmap(data, offset + size);
	/* The mapped model begins on the file's second page, like a model in an archive. */
	data = mmap(NULL, offset + size - 4096, how == CHANGED ? PROT_READ | PROT_WRITE : PROT_READ,
		    how == CHANGED ? MAP_PRIVATE : MAP_SHARED, fd, 4096);
	assert_ptr_not_equal(data, MAP_FAILED);
	close(fd);
	if (how == UNLINKED || how == REPLACED)
		unlink(path);
	snprintf(other, sizeof(other), "%s (deleted)", path);
	if (how == REPLACED) {
		fd = open(other, O_RDWR | O_CREAT, 0600);
		assert_true(fd >= 0 && !ftruncate(fd, (off_t)(offset + size)));
		close(fd);
	}
	for (size_t i = 0; i < (offset + size - 4096) / sizeof(float) && how == CHANGED; i++)
		data[i]++;
	for (int i = 0; i < 3; i++)
		tensor(w, TFL_FLOAT32, 1, dims);
	w->tensors[1].contents = (char *)data + offset - 4096;
	w->tensors[1].allocation_type = TFL_READ_ONLY;
	node(w, ADD, 0, 1, 2);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	nnapi.from_memory = 0;
	run(w);
	assert_int_equal(nnapi.from_memory, size >= 1024 && how == MAPPED);
	for (size_t i = 0; i < size / sizeof(float); i++)
		assert_true(((float *)w->data[2])[i] ==
			    (float)(offset / sizeof(float) + i + (how == CHANGED)));
	destroy(w);
	tflite_plugin_destroy_delegate(d);
	munmap(data, offset + size - 4096);
	unlink(path);
	unlink(other);
}

/*
 * Tests the graph x + a + b, whose constants are in two mappings of a file's first page. The delegate
 * makes a memory of only the mapping that contains the first constant, though the file is longer.
 */
static void constants_of_two_mappings(bool is_second_below)
{
	const int dims[] = { 256 };
	char path[] = "/tmp/nnaccel-tflite-XXXXXX";
	int fd = mkstemp(path);
	struct tfl_delegate *d = delegate();
	struct world *w = world();
	char *maps = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	float numbers[2048];

	for (int i = 0; i < 2048; i++)
		numbers[i] = (float)i;
	assert_int_equal(write(fd, numbers, sizeof(numbers)), sizeof(numbers));
	for (int i = 0; i < 2; i++)
		assert_ptr_equal(mmap(maps + 4096 * i, 4096, PROT_READ, MAP_SHARED | MAP_FIXED,
				      fd, 0), maps + 4096 * i);
	for (int i = 0; i < 5; i++)
		tensor(w, TFL_FLOAT32, 1, dims);
	for (int i = 0; i < 2; i++) {
		w->tensors[1 + i].contents = maps + 1024 + (i == is_second_below) * 4096;
		w->tensors[1 + i].allocation_type = TFL_READ_ONLY;
	}
	node(w, ADD, 0, 1, 3);
	node(w, ADD, 3, 2, 4);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	nnapi.from_memory = 0;
	run(w);
	assert_int_equal(nnapi.from_memory, 1);
	for (int i = 0; i < 256; i++)
		assert_true(((float *)w->data[4])[i] == (float)(2 * (256 + i)));
	destroy(w);
	tflite_plugin_destroy_delegate(d);
	munmap(maps, 8192);
	close(fd);
	unlink(path);
}

static int files(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_constants_of_file(void **state)
{
	const int before = files();

	(void)state;
	for (size_t size = 1020; size <= 1028; size += 4) {
		constant_of_file(4096, size, MAPPED);
		constant_of_file(4096 + 64, size, MAPPED);
		for (int how = UNLINKED; how <= CHANGED; how++)
			constant_of_file(8192 + 1024, size, how);
	}
	constants_of_two_mappings(false);
	constants_of_two_mappings(true);
	assert_int_equal(files(), before);
}

/* Tests the report that nnaccel explain reads. */
static void test_report(void **state)
{
	char path[64], text[512] = "";
	char *names[] = { "device", "report" }, *values[] = { "nnapi-reference", path };
	int fd = memfd_create("report", MFD_CLOEXEC);
	/* Two subgraphs of a model, or two models. */
	struct world *w = sum_and_product(), *other = sum_and_product();
	struct tfl_delegate *d;

	(void)state;
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	d = tflite_plugin_create_delegate(names, values, 2, hear);
	assert_non_null(d);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	/* The imitated TensorFlow Lite counts the sum and the product as outputs of the part. */
	assert_string_equal(text, "device\tnnapi-reference\nnode\t0\tADD\t-\t0\t-\n"
			    "node\t0\tMUL\t-\t0\t-\npart\t0\t48\t48\t0\n");
	assert_int_equal(d->prepare(&other->context, d), TFL_OK);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "device\tnnapi-reference\nnode\t0\tADD\t-\t0\t-\n"
			    "node\t0\tMUL\t-\t0\t-\npart\t0\t48\t48\t0\n"
			    "node\t1\tADD\t-\t0\t-\nnode\t1\tMUL\t-\t0\t-\npart\t1\t48\t48\t0\n");
	close(fd);
	destroy(w);
	destroy(other);
	tflite_plugin_destroy_delegate(d);
}

/*
 * Each case has the tensor x of a RELU, in some cases with scales per channel. The text `why` is
 * the reason to refuse the node, or "-" if the delegate accepts the node.
 */
static void test_wrong_tensors(void **state)
{
	static const struct {
		const char *why;
		int type, rank, dims[9];
		int num_scales, channels, zero_point;
		bool is_sparse, is_constant;
		size_t bytes;		/* size of a constant; 0 means the shape's size */
	} cases[] = {
		{ "-", TFL_FLOAT32, 2, { 2, 3 }, 0, 0, 0, false, false, 0 },
		{ "-", TFL_FLOAT32, 0, { 0 }, 0, 0, 0, false, false, 0 },
		{ "-", TFL_FLOAT32, 8, { 1, 1, 1, 1, 1, 1, 1, 2 }, 0, 0, 0, false, false, 0 },
		{ "a tensor has no shape, or more than 8 dimensions", TFL_FLOAT32, 9,
		 { 1, 1, 1, 1, 1, 1, 1, 1, 2 }, 0, 0, 0, false,
		  false, 0 },
		{ "a tensor has a dimension of 0", TFL_FLOAT32, 2, { 2, 0 }, 0, 0, 0, false, false,
		 0 },
		{ "a tensor has a dimension of -1", TFL_FLOAT32, 2, { -1, 2 }, 0, 0, 0, false,
		 false, 0 },
		{ "sparse tensors are not supported", TFL_FLOAT32, 2, { 2, 3 }, 0, 0, 0, true,
		 false, 0 },
		{ "type int64, must be one of float32, uint8, int8", TFL_INT64, 2, { 2, 3 }, 0, 0,
		 0, false, false, 0 },
		{ "type int16, must be one of float32, uint8, int8", TFL_INT16, 2, { 2, 3 }, 0, 0,
		 0, false, false, 0 },
		{ "-", TFL_INT8, 2, { 2, 3 }, 1, 0, 3, false, false, 0 },
		{ "a tensor with scales per channel must be constant", TFL_INT8, 2, { 2, 3 }, 2, 0,
		 0, false, false, 0 },
		{ "zero points of scales per channel must be 0", TFL_INT8, 2, { 2, 3 }, 2, 0, 1,
		 false, false, 0 },
		{ "uint8 must have a single scale", TFL_UINT8, 2, { 2, 3 }, 2, 0, 0, false, false,
		 0 },
		{ "2 scales do not fit their dimension", TFL_INT8, 2, { 2, 3 }, 2, 1, 0, false,
		 false, 0 },
		{ "2 scales do not fit their dimension", TFL_INT8, 2, { 2, 3 }, 2, 2, 0, false,
		 false, 0 },
		{ "2 scales do not fit their dimension", TFL_INT8, 2, { 2, 3 }, 2, -1, 0, false,
		 false, 0 },
		{ "a constant has 23 bytes, must be 24", TFL_FLOAT32, 2, { 2, 3 }, 0, 0, 0, false,
		 true, 23 },
		{ "a constant has 25 bytes, must be 24", TFL_FLOAT32, 2, { 2, 3 }, 0, 0, 0, false,
		 true, 25 },
		{ "a constant has 5 bytes, must be 6", TFL_UINT8, 2, { 2, 3 }, 1, 0, 0, false, true,
		 5 },
	};
	struct tfl_floats *scales = calloc(1, sizeof(*scales) + 2 * sizeof(float));
	struct list zeroes = { 0 };

	(void)state;
	scales->data[0] = scales->data[1] = 0.5F;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[64], text[512] = "", expected[128];
		char *names[] = { "device", "report", "min_work" }, *values[] = { "nnapi-reference", path, "0" };
		struct tfl_affine affine = { scales, (struct tfl_ints *)&zeroes, cases[i].channels };
		int fd = memfd_create("report", MFD_CLOEXEC);
		struct tfl_delegate *d;
		struct world *w = world();

		for (int k = 0; k < 2; k++) {
			tensor(w, cases[i].type, cases[i].rank, cases[i].dims);
			if (cases[i].num_scales)
				w->tensors[k].quantization.type = TFL_AFFINE_QUANTIZATION;
			w->tensors[k].quantization.params = &affine;
		}
		node(w, RELU, 0, -2, 1);
		scales->size = zeroes.size = cases[i].num_scales;
		zeroes.data[0] = 0;
		zeroes.data[zeroes.size ? zeroes.size - 1 : 0] = cases[i].zero_point;
		w->tensors[0].sparsity = cases[i].is_sparse ? w : NULL;
		if (cases[i].is_constant)
			w->tensors[0].allocation_type = TFL_READ_ONLY;
		if (cases[i].bytes)
			w->tensors[0].bytes = cases[i].bytes;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		d = tflite_plugin_create_delegate(names, values, 3, hear);
		assert_non_null(d);
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
		snprintf(expected, sizeof(expected), "node\t%s\tRELU\t-\t0\t%s\n",
			 strcmp(cases[i].why, "-") ? "-" : "0", cases[i].why);
		if (!strstr(text, expected))
			fail_msg("case %zu: %s", i, text);
		close(fd);
		destroy(w);
		tflite_plugin_destroy_delegate(d);
	}
	free(scales);
}

/* If a tensor's memory is too small, the delegate does not write beyond the memory's end. */
static void test_tensor_without_data(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();
	void *kernel;

	(void)state;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	/* TensorFlow Lite prepares even a kernel whose init() failed. */
	kernel = w->kernels[0].user_data;
	w->kernels[0].user_data = NULL;
	assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	assert_string_equal(w->error, "nnaccel: the partition could not be read: no memory");
	w->kernels[0].user_data = kernel;
	assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[0]), TFL_OK);
	w->tensors[3].bytes = 8;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	assert_non_null(strstr(w->error, "BAD_DATA"));
	w->tensors[3].bytes = 24;
	w->tensors[0].contents = NULL;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	w->tensors[0].contents = w->data[0];
	run(w);
	expect(w, 6);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* Returns the number of mappings of memory files with a name. */
static int mappings_of(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[256];
	int count = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += !!strstr(line, name);
	fclose(maps);
	return count;
}

static void test_buffers(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();
	const int before = files();
	int fd = memfd_create("buffer", 0), in, out, odd, mapped, none = 7;
	float *shared;

	(void)state;
	assert_int_equal(ftruncate(fd, 8192), 0);
	shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	in = nnaccel_tflite_add_buffer((struct TfLiteDelegate *)d, fd, 24, 0);
	out = nnaccel_tflite_add_buffer((struct TfLiteDelegate *)d, fd, 24, 4096);
	assert_true(in >= 0 && out >= 0 && in != out);
	assert_true(nnaccel_tflite_add_buffer((struct TfLiteDelegate *)d, -1, 24, 0) < 0);
	assert_true(nnaccel_tflite_add_buffer((struct TfLiteDelegate *)d, fd, 0, 0) < 0);

	memcpy(shared, w->data[0], 24);
	memset(w->data[0], 0, 24);
	w->tensors[0].delegate = w->tensors[3].delegate = d;
	w->tensors[0].buffer_handle = in;
	w->tensors[3].buffer_handle = out;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	run(w);
	assert_true(w->tensors[3].data_is_stale);
	for (int i = 0; i < 6; i++)
		assert_float_equal(shared[1024 + i], ((float)i + 2) * 2, 1e-6);
	assert_int_equal(d->copy_from_buffer(&w->context, d, out, &w->tensors[3]), TFL_OK);
	expect(w, 6);
	memset(w->data[3], 0, 24);
	assert_int_equal(d->copy_to_buffer(&w->context, d, out, &w->tensors[3]), TFL_OK);
	assert_float_equal(shared[1024], 0, 0);
	/*
	 * A buffer may be at any offset. A buffer that is copied is then not mapped any more.
	 */
	odd = nnaccel_tflite_add_buffer((struct TfLiteDelegate *)d, fd, 24, 4096 + 8);
	mapped = mappings_of("memfd:buffer");
	for (int i = 0; i < 6; i++)
		shared[1026 + i] = ((float)i + 2) * 2;
	assert_int_equal(d->copy_from_buffer(&w->context, d, odd, &w->tensors[3]), TFL_OK);
	expect(w, 6);
	((float *)w->data[3])[5] = 99;
	assert_int_equal(d->copy_to_buffer(&w->context, d, odd, &w->tensors[3]), TFL_OK);
	assert_float_equal(shared[1026 + 5], 99, 0);
	assert_int_equal(mappings_of("memfd:buffer"), mapped);
	w->tensors[3].buffer_handle = odd;
	memset(&shared[1024], 0, 64);
	run(w);
	assert_float_equal(shared[1025], 0, 0);
	for (int i = 0; i < 6; i++)
		assert_float_equal(shared[1026 + i], ((float)i + 2) * 2, 1e-6);
	assert_int_equal(d->copy_to_buffer(&w->context, d, 99, &w->tensors[3]),
			 TFL_DELEGATE_ERROR);
	d->free_buffer(&w->context, d, &in);
	assert_int_equal(in, -1);
	d->free_buffer(&w->context, d, &none);
	/* The run fails if a tensor still has the handle of a freed buffer. */
	w->tensors[3].buffer_handle = out;
	w->tensors[1].delegate = d;
	w->tensors[1].buffer_handle = 0;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
	munmap(shared, 8192);
	close(fd);
	assert_int_equal(files(), before);
}

/*
 * If int64 indices pass from one partition to another partition, the delegate converts the indices
 * to int32. The indices may be in a tensor without data.
 */
static void test_wide_places(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = world();
	const int64_t *places;

	(void)state;
	tensor(w, TFL_FLOAT32, 2, (const int[]){ 2, 3 });
	tensor(w, TFL_INT32, 1, (const int[]){ 1 });
	tensor(w, TFL_INT64, 1, (const int[]){ 2 });
	tensor(w, TFL_FLOAT32, 1, (const int[]){ 2 });
	tensor(w, TFL_FLOAT32, 1, (const int[]){ 2 });
	w->tensors[1].allocation_type = TFL_READ_ONLY;
	((int *)w->data[1])[0] = 1;
	memcpy(w->data[0], (const float[]){ 1, 2, 3, 7, 6, 5 }, 6 * sizeof(float));
	node(w, ARG_MAX, 0, 1, 2);
	node(w, IMAG, 0, -2, 4);
	node(w, CAST, 2, -2, 3);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 2);
	memset(w->data[2], 0xff, 2 * sizeof(places[0]));
	run(w);
	places = (const int64_t *)w->data[2];
	assert_int_equal(places[0], 2);
	assert_int_equal(places[1], 0);
	assert_float_equal(((const float *)w->data[3])[0], 2, 0);
	assert_float_equal(((const float *)w->data[3])[1], 0, 0);
	w->tensors[2].contents = NULL;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[1]), TFL_DELEGATE_ERROR);
	w->tensors[2].contents = w->data[2];
	w->tensors[2].buffer_handle = 0;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[1]), TFL_DELEGATE_ERROR);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

static int take_shape(struct tfl_context *context, struct tfl_tensor *tensor, struct tfl_ints *dims)
{
	memcpy(tensor->dims, dims, sizeof(*dims) + (size_t)dims->size * sizeof(dims->data[0]));
	free(dims);
	tensor->bytes = size_of(tensor);
	tensor->contents = of(context)->data[tensor - of(context)->tensors];
	return TFL_OK;
}

/*
 * Tests an operation that TensorFlow Lite lacks, followed by an operation that TensorFlow Lite has.
 * If an input is resized, the output of the first operation gets another shape.
 */
static void test_operation_of_mediapipe(void **state)
{
	static const struct {
		int padding, height, width;
	} cases[] = { { 1, 5, 14 }, { 2, 7, 15 }, { 1, 5, 14 } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct tfl_delegate *d = delegate();
		struct world *w = world();
		int params[] = { cases[i].padding, 3, 2 }, n;

		tensor(w, TFL_FLOAT32, 4, (const int[]){ 1, 1, 1, 2 });
		tensor(w, TFL_FLOAT32, 4, (const int[]){ 4, 3, 3, 2 });
		tensor(w, TFL_FLOAT32, 1, (const int[]){ 4 });
		for (int k = 0; k < 2; k++)
			tensor(w, TFL_FLOAT32, 4, (const int[]){ 1, 1 + 2 * (i & 1), 1 + 2 * (i & 1), 4 });
		n = node(w, i < 2 ? CUSTOM : TFL_OP_Convolution2DTransposeBias, 0, 1, 3);
		append(&w->inputs[n], 2);
		w->nodes[n].builtin_data = NULL;
		w->nodes[n].custom_data = params;
		w->nodes[n].custom_size = sizeof(params);
		w->registrations[n].custom_name = "Convolution2DTransposeBias";
		node(w, ADD, 3, 3, 4);
		w->context.resize_tensor = take_shape;
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		assert_int_equal(w->num_kernels, 1);
		assert_null(w->registrations[1].prepare);
		if (i == 2) {
			assert_null(w->registrations[n].prepare);
			destroy(w);
			tflite_plugin_destroy_delegate(d);
			continue;
		}
		assert_non_null(w->registrations[n].prepare);
		w->dims[0].data[1] = 3;
		w->dims[0].data[2] = 5;
		assert_int_equal(w->registrations[n].prepare(&w->context, &w->nodes[n]), TFL_OK);
		assert_int_equal(w->dims[3].data[1], cases[i].height);
		assert_int_equal(w->dims[3].data[2], cases[i].width);
		/* The custom operation accepts strides and sizes up to 2^15. */
		for (int k = 0; k < 8; k++) {
			int *limited[] = { &params[1], &params[2], &w->dims[0].data[1], &w->dims[1].data[2] };
			int *at = limited[k / 2], usual = *at;

			*at = (1 << 15) + k % 2;
			assert_int_equal(w->registrations[n].prepare(&w->context, &w->nodes[n]),
					 k % 2 ? TFL_ERROR : TFL_OK);
			*at = usual;
		}
		w->nodes[n].custom_size--;
		assert_int_equal(w->registrations[n].prepare(&w->context, &w->nodes[n]), TFL_ERROR);
		destroy(w);
		tflite_plugin_destroy_delegate(d);
	}
}

static int *ints_of(struct tfl_context *context, const struct tfl_ints *list, int i)
{
	return context->tensors[list->data[i]].contents;
}

static int prepare_nothing(struct tfl_context *context, struct tfl_node *node)
{
	(void)context;
	(void)node;
	return TFL_OK;
}

static int compute_shape(struct tfl_context *context, struct tfl_node *node)
{
	memcpy(ints_of(context, node->outputs, 0), context->tensors[node->inputs->data[0]].dims->data, 2 * sizeof(int));
	return TFL_OK;
}

static int compute_swapped(struct tfl_context *context, struct tfl_node *node)
{
	assert_string_equal(node->user_data, "of the operation");
	/*
	 * TensorFlow Lite did not allocate the operation's temporary tensor, but the delegate gave
	 * the tensor memory.
	 */
	memset(ints_of(context, node->temporaries, 0), 0xff, 2 * sizeof(int));
	ints_of(context, node->outputs, 0)[0] = ints_of(context, node->inputs, 0)[1];
	ints_of(context, node->outputs, 0)[1] = ints_of(context, node->inputs, 0)[0];
	return TFL_OK;
}

static void free_swapped(struct tfl_context *context, void *buffer)
{
	(void)context;
	free(buffer);
}

/* Imitates a version of RESHAPE that accepts only a shape that is a constant in the file. */
static int prepare_reshape(struct tfl_context *context, struct tfl_node *node)
{
	struct tfl_tensor *out = &context->tensors[node->outputs->data[0]];

	if (context->tensors[node->inputs->data[1]].allocation_type == TFL_READ_ONLY)
		memcpy(out->dims->data, ints_of(context, node->inputs, 1), 2 * sizeof(int));
	else
		out->allocation_type = TFL_DYNAMIC;
	out->bytes = size_of(out);
	return TFL_OK;
}

/*
 * If a shape is computed from another shape, TensorFlow Lite computes the shape when it prepares
 * the nodes. If a shape's value changes, partitions that use the value are compiled again, even
 * with unchanged tensor shapes.
 */
static void test_shapes_from_shapes(void **state)
{
	enum { X, SIZES, ORDER, TURNED, OUT, BETWEEN, MORE, SUM, TEMPORARY };
	static struct list temporaries = { 1, { TEMPORARY } };
	static const int two[] = { 2 };
	struct tfl_delegate *d = delegate();
	struct world *w = world();

	(void)state;
	w->context.resize_tensor = take_shape;
	tensor(w, TFL_FLOAT32, 2, (const int[]){ 2, 3 });
	for (int i = SIZES; i <= TURNED; i++)
		tensor(w, TFL_INT32, 1, two);
	tensor(w, TFL_FLOAT32, 2, (const int[]){ 3, 2 });
	tensor(w, TFL_FLOAT32, 2, (const int[]){ 2, 3 });
	for (int i = MORE; i <= TEMPORARY; i++)
		tensor(w, TFL_INT32, 1, two);
	w->tensors[TEMPORARY].contents = NULL;
	w->tensors[ORDER].allocation_type = TFL_READ_ONLY;
	((int *)w->data[ORDER])[0] = 1;
	node(w, SHAPE, X, -2, SIZES);
	node(w, GATHER, SIZES, ORDER, TURNED);
	node(w, RESHAPE, X, TURNED, OUT);
	node(w, IMAG, X, -2, BETWEEN);
	node(w, ADD, MORE, TURNED, SUM);
	for (int i = 0; i < 3; i++)
		w->registrations[i].prepare = prepare_nothing;
	w->registrations[0].invoke = compute_shape;
	w->registrations[1].invoke = compute_swapped;
	w->registrations[1].free = free_swapped;
	w->nodes[1].user_data = strdup("of the operation");
	w->nodes[1].temporaries = (struct tfl_ints *)&temporaries;
	w->registrations[2].prepare = prepare_reshape;
	w->registrations[2].invoke = prepare_nothing;
	((int *)w->data[MORE])[0] = 10;
	for (int i = 0; i < 15; i++)
		((float *)w->data[X])[i] = (float)i;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 2);
	for (int rows = 2; rows < 6; rows++) {
		w->dims[X].data[0] = rows;
		w->tensors[X].bytes = size_of(&w->tensors[X]);
		for (int i = 0; i < 3; i++)
			assert_int_equal(w->registrations[i].prepare(&w->context, &w->nodes[i]), TFL_OK);
		assert_int_equal(w->tensors[TURNED].allocation_type, TFL_PERSISTENT_READ_ONLY);
		assert_int_equal(w->dims[OUT].data[1], rows);
		run(w);
		assert_memory_equal(w->data[OUT], w->data[X], (size_t)rows * 3 * sizeof(float));
		assert_int_equal(((int *)w->data[SUM])[0], 13);
		assert_int_equal(((int *)w->data[SUM])[1], rows);
	}
	for (int i = 0; i < 3; i++)
		w->registrations[i].free(&w->context, w->nodes[i].user_data);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/*
 * If TensorFlow Lite has already computed all values of a partition, the delegate does not call the
 * NNAPI.
 */
static void test_nothing_to_compute(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = world();

	(void)state;
	tensor(w, TFL_FLOAT32, 2, (const int[]){ 2, 3 });
	tensor(w, TFL_INT32, 1, (const int[]){ 2 });
	w->tensors[1].allocation_type = TFL_PERSISTENT_READ_ONLY;
	node(w, SHAPE, 0, -2, 1);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	memcpy(w->data[1], (const int[]){ 2, 3 }, 2 * sizeof(int));
	nnapi_calls[0] = '\0';
	run(w);
	assert_string_equal(nnapi_calls, "");
	assert_int_equal(((int *)w->data[1])[1], 3);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

static const char *version;

__attribute__((visibility("default"))) const char *TfLiteVersion(void);

const char *TfLiteVersion(void)
{
	return version;
}

/*
 * If TensorFlow Lite has an unknown version or other layouts of structures, the delegate accepts no
 * nodes, and the log says why.
 */
static void test_wrong_runtime(void **state)
{
#define AT(member) offsetof(struct world, member), sizeof(((struct world *)NULL)->member)
	static const struct {
		const char *version;
		size_t at, size;	/* offset and size of the changed value; size 0: no value */
		int64_t value;
		const char *why;
	} cases[] = {
		{ NULL, 0, 0, 0, NULL },
		{ "2.4.0", 0, 0, 0, NULL },
		{ "2.14.1", 0, 0, 0, NULL },
		{ "2.3.9", 0, 0, 0, "TensorFlow Lite 2.3.9, must be 2.4 or a later 2" },
		{ "1.15.0", 0, 0, 0, "TensorFlow Lite 1.15.0, must be" },
		{ "3.4", 0, 0, 0, "TensorFlow Lite 3.4, must be" },
		{ "nightly", 0, 0, 0, "TensorFlow Lite nightly, must be" },
		{ NULL, AT(context.get_execution_plan), 0, "TfLiteContext" },
		{ NULL, AT(context.get_node), 0, "TfLiteContext" },
		{ NULL, AT(context.replace_nodes), 0, "TfLiteContext" },
		{ NULL, AT(context.report_error), 0, "TfLiteContext" },
		{ NULL, AT(context.tensors), 0, "TfLiteContext" },
		{ NULL, AT(context.num_tensors), (1 << 24) + 1, "TfLiteContext" },
		{ NULL, AT(tensors[1].type), -1, "TfLiteTensor" },
		{ NULL, AT(tensors[1].type), 63, NULL },
		{ NULL, AT(tensors[1].type), 64, "TfLiteTensor" },
		{ NULL, AT(tensors[1].allocation_type), -1, "TfLiteTensor" },
		{ NULL, AT(tensors[1].allocation_type), 15, NULL },
		{ NULL, AT(tensors[1].allocation_type), 16, "TfLiteTensor" },
		{ NULL, AT(tensors[1].buffer_handle), -2, "TfLiteTensor" },
		{ NULL, AT(tensors[1].data_is_stale), 1, NULL },
		{ NULL, AT(tensors[1].data_is_stale), 2, "TfLiteTensor" },
		{ NULL, AT(tensors[1].is_variable), 1, NULL },
		{ NULL, AT(tensors[1].is_variable), 2, "TfLiteTensor" },
		{ NULL, AT(tensors[1].quantization.type), TFL_AFFINE_QUANTIZATION + 1, "TfLiteTensor" },
		{ NULL, AT(dims[1].size), -1, "TfLiteTensor" },
		{ NULL, AT(dims[1].size), 257, "TfLiteTensor" },
		{ NULL, AT(plan.size), -1, "TfLiteIntArray" },
		{ NULL, AT(nodes[1].inputs), 0, "TfLiteNode" },
		{ NULL, AT(nodes[1].outputs), 0, "TfLiteNode" },
		{ NULL, AT(registrations[1].builtin_code), -5, "TfLiteNode" },
	};
#undef AT
	struct tfl_delegate *d = delegate();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = sum_and_product();
		FILE *const usual = stderr;
		char *line;
		size_t size;

		version = cases[i].version;
		memcpy((char *)w + cases[i].at, &cases[i].value, cases[i].size);
		stderr = open_memstream(&line, &size);
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		fclose(stderr);
		stderr = usual;
		if (cases[i].why ? !strstr(line, cases[i].why) || w->num_kernels :
				   !cases[i].size ? w->num_kernels != 1 : !!strstr(line, "layout"))
			fail_msg("case %zu: %d kernels, %s", i, w->num_kernels, line);
		free(line);
		destroy(w);
	}
	version = NULL;
	tflite_plugin_destroy_delegate(d);
}

/*
 * The delegate refuses FLOOR_DIV, because TensorFlow Lite divides in double precision, so the floor
 * of TensorFlow Lite's quotient may differ from the device's.
 */
static void test_floor_div(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();

	(void)state;
	w->registrations[0].builtin_code = FLOOR_DIV;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	assert_int_equal(w->parts[0][0].data[0], 1);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* Tests a STRIDED_SLICE that selects one index (`begin`) of an axis, and drops the axis. */
static void strided_slice(struct tfl_delegate *d, int begin, int offset, bool taken)
{
	struct world *w = world();
	int n;

	tensor(w, TFL_FLOAT32, 2, (const int[]){ 3, 2 });
	for (int i = 0; i < 3; i++) {
		tensor(w, TFL_INT32, 1, (const int[]){ 1 });
		w->tensors[1 + i].allocation_type = TFL_READ_ONLY;
	}
	tensor(w, TFL_FLOAT32, 1, (const int[]){ 2 });
	((int *)w->data[1])[0] = begin;
	((int *)w->data[2])[0] = begin + 1;
	((int *)w->data[3])[0] = 1;
	n = node(w, STRIDED_SLICE, 0, 1, 4);
	append(&w->inputs[n], 2);
	append(&w->inputs[n], 3);
	w->params[n][4] = 1;	/* shrink_axis_mask */
	w->params[n][5] = offset;
	for (int i = 0; i < 6; i++)
		((float *)w->data[0])[i] = (float)i;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, taken);
	if (taken) {
		run(w);
		assert_true(((float *)w->data[4])[0] == (float)((begin + 3) % 3 * 2));
	}
	destroy(w);
}

static void test_dropped_axis(void **state)
{
	struct tfl_delegate *d = delegate();

	(void)state;
	strided_slice(d, 2, 0, true);
	strided_slice(d, -3, 0, true);
	strided_slice(d, 3, 0, false);
	strided_slice(d, -4, 0, false);
	/*
	 * In TensorFlow Lite 2.9 the parameters of STRIDED_SLICE end before the byte that newer
	 * versions read as `offset`.
	 */
	for (int i = 0; i < 2; i++) {
		version = i ? "2.10.0" : "2.9.0";
		strided_slice(d, 2, 1, !i);
	}
	version = NULL;
	tflite_plugin_destroy_delegate(d);
}

/*
 * Runs a graph of a sum and a product of two tensors; only the result `output` is an output of the
 * graph. Returns the output's first element.
 */
static float cached_output(const char *folder, int output)
{
	char *names[] = { "device", "min_work", "cache_dir" };
	char *values[] = { "nnapi-reference", "0", (char *)folder };
	struct tfl_delegate *d = tflite_plugin_create_delegate(names, values, 3, hear);
	struct world *w = world();
	float first;

	assert_non_null(d);
	for (int i = 0; i < 4; i++)
		tensor(w, TFL_FLOAT32, 1, (const int[]){ 4 });
	node(w, ADD, 0, 1, 2);
	node(w, MUL, 0, 1, 3);
	append(&w->unread, output == 2 ? 3 : 2);
	((float *)w->data[0])[0] = 3;
	((float *)w->data[1])[0] = 5;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	run(w);
	first = ((const float *)w->data[output])[0];
	destroy(w);
	tflite_plugin_destroy_delegate(d);
	return first;
}

/* Two models that differ only in their outputs have different cache entries. */
static void test_cached_outputs(void **state)
{
	char folder[] = "/tmp/nnaccel-tflite-XXXXXX", command[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		assert_float_equal(cached_output(folder, 2), 8, 0);
		assert_float_equal(cached_output(folder, 3), 15, 0);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* ---- Constants of wrong sizes ---- */

/* Moves a constant to the end of a page, before a page that cannot be read. */
static void guard(struct world *w, int tensor)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct tfl_tensor *t = &w->tensors[tensor];
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
	t->contents = memcpy(at + page - t->bytes, w->data[tensor], t->bytes);
	t->allocation_type = TFL_READ_ONLY;
}

static void unguard(struct world *w, int tensor)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct tfl_tensor *t = &w->tensors[tensor];

	munmap((char *)t->contents + t->bytes - page, 2 * page);
}

/*
 * Tests a TRANSPOSE of three dimensions whose list of axes has `count` elements. The delegate must
 * not read beyond the end of the list of axes.
 */
static void transpose(struct tfl_delegate *d, int count, bool taken)
{
	struct world *w = world();

	tensor(w, TFL_FLOAT32, 3, (const int[]){ 2, 3, 4 });
	tensor(w, TFL_INT32, 1, &count);
	tensor(w, TFL_FLOAT32, 3, (const int[]){ 2, 4, 3 });
	memcpy(w->data[1], (const int[]){ 0, 2, 1, 3 }, (size_t)count * sizeof(int));
	guard(w, 1);
	node(w, TRANSPOSE, 0, 1, 2);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, taken);
	unguard(w, 1);
	destroy(w);
}

static void test_short_order(void **state)
{
	struct tfl_delegate *d = delegate();

	(void)state;
	/*
	 * The first call leaves a valid third axis in memory. A delegate that reads beyond the two
	 * axes of the second call could find the third axis and accept the node.
	 */
	transpose(d, 3, true);
	transpose(d, 2, false);
	transpose(d, 4, false);
	tflite_plugin_destroy_delegate(d);
}

/* The delegate refuses a CONCATENATION that lacks one of its inputs. */
static void test_missing_part(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = world();
	int n;

	(void)state;
	for (int i = 0; i < 3; i++)
		tensor(w, TFL_FLOAT32, 2, (const int[]){ i ? 2 : 4, 3 });
	n = node(w, 2, 1, -1, 0);
	append(&w->inputs[n], 2);
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 0);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* The delegate refuses a PAD_V2 whose value has fewer bytes than an element of its type. */
static void test_short_value(void **state)
{
	struct tfl_delegate *d = delegate();
	int n;

	(void)state;
	for (size_t bytes = 1; bytes <= 4; bytes += 3) {
		struct world *w = world();

		tensor(w, TFL_FLOAT32, 2, (const int[]){ 2, 3 });
		tensor(w, TFL_INT32, 2, (const int[]){ 2, 2 });
		tensor(w, TFL_FLOAT32, 1, (const int[]){ 1 });
		tensor(w, TFL_FLOAT32, 2, (const int[]){ 4, 5 });
		memcpy(w->data[1], (const int[]){ 1, 1, 1, 1 }, 4 * sizeof(int));
		w->tensors[2].bytes = bytes;
		guard(w, 1);
		guard(w, 2);
		n = node(w, PAD_V2, 0, 1, 3);
		append(&w->inputs[n], 2);
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		assert_int_equal(w->num_kernels, bytes == 4);
		unguard(w, 1);
		unguard(w, 2);
		destroy(w);
	}
	tflite_plugin_destroy_delegate(d);
}

/* ---- Random nodes: the delegate may refuse any file, but must not crash ---- */

static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/*
 * Makes a random tensor. Most random tensors have the shape and type of the first tensor, so that
 * some nodes are valid.
 */
static void random_tensor(struct world *w)
{
	static const int types[] = { TFL_FLOAT32, TFL_FLOAT32, TFL_INT32, TFL_UINT8, TFL_INT8,
				     TFL_BOOL, TFL_INT64, TFL_FLOAT16, TFL_INT16 };
	static const int sizes[] = { 1, 2, 3, 4, 4, 2, 1, 0, -1, 1 << 30 };
	int rank = (int)any(6), dims[6], type = types[any(9)], i;
	struct tfl_tensor *t;

	for (i = 0; i < rank; i++)
		dims[i] = any(3) ? 2 : sizes[any(any(8) ? 6 : 10)];
	if (w->num_tensors && any(3)) {
		rank = w->dims[0].size;
		memcpy(dims, w->dims[0].data, (size_t)rank * sizeof(dims[0]));
		type = any(4) ? w->tensors[0].type : type;
	}
	i = tensor(w, type, rank, dims);
	t = &w->tensors[i];
	if (t->bytes > MOST_BYTES)
		t->contents = NULL;
	for (int b = 0; b < MOST_BYTES; b += 4)
		*(int *)&w->data[i][b] = (int)any(9) - 2;
	if (!any(4))
		t->allocation_type = any(4) ? TFL_READ_ONLY : TFL_PERSISTENT_READ_ONLY;
	t->is_variable = !any(3);
	if (any(4)) {
		t->params.scale = .5f;
		t->params.zero_point = t->type == TFL_UINT8 ? 128 : 0;
	}
}

static void test_random_nodes(void **state)
{
	struct tfl_delegate *d = delegate();
	int taken = 0;

	(void)state;
	for (seed = 1; seed < 30000;) {
		uint32_t start = seed, code = any(170), count = 1 + any(5);
		struct world *w = world();
		int n;

		for (int i = 0; i < 8; i++)
			random_tensor(w);
		n = node(w, (int)code, any(8) ? (int)any(8) : -1, -2, (int)any(8));
		for (uint32_t i = 1; i < count; i++)
			append(&w->inputs[n], any(8) ? (int)any(8) : -1);
		for (uint32_t i = any(3); i; i--)
			append(&w->outputs[n], (int)any(8));
		/* Make random parameters of the node; each byte is a valid bool. */
		for (int i = 0; i < 16; i++)
			w->params[n][i] = any(6) ? (int)any(2) : (int)(any(2) << 24 | any(2) << 8);
		if (!any(16))
			w->nodes[n].builtin_data = NULL;
		assert_int_equal(d->prepare(&w->context, d), TFL_OK);
		for (int i = 0; i < w->num_kernels; i++) {
			taken++;
			if (w->kernel.prepare(&w->context, &w->kernels[i]) == TFL_OK)
				w->kernel.invoke(&w->context, &w->kernels[i]);
		}
		destroy(w);
		seed = start + 1;
	}
	/* Some of the random nodes are valid by chance, and the delegate accepts these nodes. */
	assert_true(taken > 20);
	tflite_plugin_destroy_delegate(d);
}

/* Runs the listed tests again, which must free all blocks and close all files. */
static void test_nothing_is_left(void **state)
{
	static void (*const again[])(void **) = {
		test_options, test_calls, test_failures, test_wrong_options,
		test_wrong_option_without_reporter, test_whole_graph, test_bad_shape_between,
		test_late_compilation_fails, test_compilation_fails, test_refusals, test_max_partitions,
		test_usual_work, test_constants_of_file, test_tensor_without_data,
		test_buffers, test_cached_outputs, test_wrong_runtime, test_shapes_from_shapes, test_wide_places, test_operation_of_mediapipe,
		test_shapes_of_values, test_shapes_that_change_often, test_late_nodes_that_are_refused,
	};

	for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++) {
		const long blocks = heap_blocks;
		const int open = files();

		again[i](state);
		if (heap_blocks != blocks || files() != open)
			fail_msg("%ld blocks and %d files of test %zu", heap_blocks - blocks,
				 files() - open, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_shapes_of_values),
		cmocka_unit_test(test_shapes_in_buffers),
		cmocka_unit_test(test_shapes_that_change_often),
		cmocka_unit_test(test_late_nodes_that_stay),
		cmocka_unit_test(test_late_nodes_that_are_refused),
		cmocka_unit_test(test_late_shape_without_elements),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_wrong_options),
		cmocka_unit_test(test_wrong_option_without_reporter),
		cmocka_unit_test(test_whole_graph),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_wrong_tensors),
		cmocka_unit_test(test_bad_shape_between),
		cmocka_unit_test(test_late_compilation_fails),
		cmocka_unit_test(test_compilation_fails),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_max_partitions),
		cmocka_unit_test(test_usual_work),
		cmocka_unit_test(test_constants_of_file),
		cmocka_unit_test(test_tensor_without_data),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_cached_outputs),
		cmocka_unit_test(test_dropped_axis),
		cmocka_unit_test(test_shapes_from_shapes),
		cmocka_unit_test(test_nothing_to_compute),
		cmocka_unit_test(test_wrong_runtime),
		cmocka_unit_test(test_wide_places),
		cmocka_unit_test(test_operation_of_mediapipe),
		cmocka_unit_test(test_floor_div),
		cmocka_unit_test(test_short_order),
		cmocka_unit_test(test_short_value),
		cmocka_unit_test(test_missing_part),
		cmocka_unit_test(test_random_nodes),
		cmocka_unit_test(test_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
