/* SPDX-License-Identifier: MIT */
/*
 * libnnaccel_tflite.so under a context that plays TensorFlow Lite: nodes and tensors in arrays,
 * partitions of nodes that follow each other. Runs with the sanitizers, without a download.
 */
#define _GNU_SOURCE
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

#include "clients/tflite/abi.h"
#include <nnaccel/tflite.h>

struct tfl_delegate *tflite_plugin_create_delegate(char **names, char **values, size_t count,
						   void (*report_error)(const char *));
void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate);

enum { MOST = 16, MOST_BYTES = 4096 };
enum { ADD = 0, CONV_2D = 3, MUL = 18, RELU = 19 };

/* An array of ints as TensorFlow Lite has them, of a fixed size. */
struct list {
	int size;
	int data[MOST];
};

struct world {
	struct tfl_context context;
	struct tfl_tensor tensors[MOST];
	struct list dims[MOST];
	char data[MOST][MOST_BYTES] __attribute__((aligned(64)));
	int num_tensors;

	struct tfl_node nodes[MOST];
	struct tfl_registration registrations[MOST];
	struct list inputs[MOST], outputs[MOST];
	int params[MOST][16];
	int num_nodes;
	struct list plan;

	struct tfl_partition partitions[MOST];
	struct list parts[MOST][3];
	struct tfl_registration kernel;
	struct tfl_node kernels[MOST];
	int num_kernels;
	char error[256];
};

static char said[256];

static void hear(const char *text)
{
	snprintf(said, sizeof(said), "%s", text);
}

static struct world *of(struct tfl_context *context)
{
	return (struct world *)context;
}

static int get_plan(struct tfl_context *context, struct tfl_ints **plan)
{
	*plan = (struct tfl_ints *)&of(context)->plan;
	return TFL_OK;
}

static int get_node(struct tfl_context *context, int index, struct tfl_node **node,
		    struct tfl_registration **registration)
{
	*node = &of(context)->nodes[index];
	*registration = &of(context)->registrations[index];
	return TFL_OK;
}

static void report_error(struct tfl_context *context, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(of(context)->error, sizeof(of(context)->error), format, args);
	va_end(args);
}

static void append(struct list *list, int value)
{
	if (list->size < MOST)
		list->data[list->size++] = value;
}

static bool has(const struct list *list, int value)
{
	for (int i = 0; i < list->size; i++)
		if (list->data[i] == value)
			return true;
	return false;
}

/* A partition is nodes that follow each other; its outputs are all that it writes. */
static int preview(struct tfl_context *context, const struct tfl_ints *nodes,
		   struct tfl_partition **partitions, int *count)
{
	struct world *w = of(context);

	*count = 0;
	memset(w->parts, 0, sizeof(w->parts));
	for (int i = 0; i < nodes->size; i++) {
		int node = nodes->data[i];
		struct list *part = w->parts[*count];

		if (!i || nodes->data[i - 1] + 1 != node)
			part = w->parts[(*count)++];
		else
			part = w->parts[*count - 1];
		append(&part[0], node);
		for (int k = 0; k < w->inputs[node].size; k++)
			if (!has(&part[2], w->inputs[node].data[k]) &&
			    !has(&part[1], w->inputs[node].data[k]))
				append(&part[1], w->inputs[node].data[k]);
		for (int k = 0; k < w->outputs[node].size; k++)
			append(&part[2], w->outputs[node].data[k]);
	}
	for (int i = 0; i < *count; i++)
		w->partitions[i] = (struct tfl_partition){
			.nodes = (struct tfl_ints *)&w->parts[i][0],
			.inputs = (struct tfl_ints *)&w->parts[i][1],
			.outputs = (struct tfl_ints *)&w->parts[i][2],
		};
	*partitions = w->partitions;
	return TFL_OK;
}

static int replace(struct tfl_context *context, struct tfl_registration registration,
		   const struct tfl_ints *nodes, struct tfl_delegate *delegate)
{
	struct world *w = of(context);
	struct tfl_partition *parts;
	int count;

	preview(context, nodes, &parts, &count);
	w->kernel = registration;
	for (int i = 0; i < count; i++) {
		parts[i].delegate = delegate;
		w->kernels[w->num_kernels++].user_data =
			registration.init(context, (const char *)&parts[i], 0);
	}
	return TFL_OK;
}

static struct world *world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->context = (struct tfl_context){
		.get_execution_plan = get_plan, .tensors = w->tensors,
		.report_error = report_error, .get_node = get_node, .replace_nodes = replace,
		.preview_partitions = preview,
	};
	return w;
}

static size_t size_of(const struct tfl_tensor *t)
{
	size_t size = t->type == TFL_FLOAT32 || t->type == TFL_INT32 ? 4 :
		      t->type == TFL_INT64 ? 8 : t->type == TFL_FLOAT16 ? 2 : 1;

	for (int i = 0; i < t->dims->size; i++)
		size *= t->dims->data[i] > 0 ? (size_t)t->dims->data[i] : 0;
	return size;
}

static int tensor(struct world *w, int type, int rank, const int *dims)
{
	int i = w->num_tensors++;
	struct tfl_tensor *t = &w->tensors[i];

	w->dims[i].size = rank;
	memcpy(w->dims[i].data, dims, (size_t)rank * sizeof(dims[0]));
	*t = (struct tfl_tensor){ .type = type, .data = w->data[i], .allocation_type = 2,
				  .dims = (struct tfl_ints *)&w->dims[i], .buffer_handle = -1 };
	t->bytes = size_of(t);
	w->context.num_tensors = (size_t)w->num_tensors;
	return i;
}

static int node(struct world *w, int code, int a, int b, int out)
{
	int i = w->num_nodes++;

	append(&w->inputs[i], a);
	if (b >= -1)
		append(&w->inputs[i], b);
	append(&w->outputs[i], out);
	append(&w->plan, i);
	w->registrations[i].builtin_code = code;
	w->nodes[i] = (struct tfl_node){ .inputs = (struct tfl_ints *)&w->inputs[i],
					 .outputs = (struct tfl_ints *)&w->outputs[i],
					 .builtin_data = w->params[i] };
	return i;
}

static void destroy(struct world *w)
{
	for (int i = 0; i < w->num_kernels; i++)
		w->kernel.free(&w->context, w->kernels[i].user_data);
	free(w);
}

static struct tfl_delegate *delegate(void)
{
	char *names[] = { "device", "min_work" }, *values[] = { "nnapi-reference", "0" };
	struct tfl_delegate *d = tflite_plugin_create_delegate(names, values, 2, hear);

	assert_non_null(d);
	return d;
}

/* (a + b) * b, of 2 * 3 floats. */
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

static void test_whole_graph(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();

	(void)state;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->num_kernels, 1);
	run(w);
	expect(w, 6);
	/* The same once more, then with another shape and other places. */
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
	w->tensors[0].data = w->data[5];
	run(w);
	expect(w, 12);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

/* A tensor that is smaller than its shape says is not written over. */
static void test_tensor_without_data(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();

	(void)state;
	assert_int_equal(d->prepare(&w->context, d), TFL_OK);
	assert_int_equal(w->kernel.prepare(&w->context, &w->kernels[0]), TFL_OK);
	w->tensors[3].bytes = 8;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	assert_non_null(strstr(w->error, "BAD_DATA"));
	w->tensors[3].bytes = 24;
	w->tensors[0].data = NULL;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	w->tensors[0].data = w->data[0];
	run(w);
	expect(w, 6);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
}

static void test_buffers(void **state)
{
	struct tfl_delegate *d = delegate();
	struct world *w = sum_and_product();
	int fd = memfd_create("buffer", 0), in, out, none = 7;
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
	assert_int_equal(d->copy_to_buffer(&w->context, d, 99, &w->tensors[3]),
			 TFL_DELEGATE_ERROR);
	d->free_buffer(&w->context, d, &in);
	assert_int_equal(in, -1);
	d->free_buffer(&w->context, d, &none);
	/* The handle is gone, the tensor still has it. */
	w->tensors[3].buffer_handle = out;
	w->tensors[1].delegate = d;
	w->tensors[1].buffer_handle = 0;
	assert_int_equal(w->kernel.invoke(&w->context, &w->kernels[0]), TFL_DELEGATE_ERROR);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
	munmap(shared, 8192);
	close(fd);
}

/* ---- Nodes made at random: nothing that is in a file may be more than refused ---- */

static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Most tensors have the shape and type of the first, so that some nodes are right. */
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
		t->data = NULL;
	for (int b = 0; b < MOST_BYTES; b += 4)
		*(int *)&w->data[i][b] = (int)any(9) - 2;
	if (!any(4))
		t->allocation_type = TFL_READ_ONLY;
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
		/* Each byte is a bool. */
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
	/* Some are right by chance. */
	assert_true(taken > 20);
	tflite_plugin_destroy_delegate(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_whole_graph),
		cmocka_unit_test(test_tensor_without_data),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_random_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
