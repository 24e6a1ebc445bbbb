/* SPDX-License-Identifier: MIT */
/*
 * Imitates TensorFlow Lite for tflite_test.c and for the fuzzer of the delegate. The nodes and
 * tensors of a context are in arrays, and a partition is a sequence of consecutive nodes.
 */
#ifndef NN_TESTS_TFLITE_PLAY_H
#define NN_TESTS_TFLITE_PLAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/abi.h"

struct tfl_delegate *tflite_plugin_create_delegate(char **names, char **values, size_t count,
						   void (*report_error)(const char *));
void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate);

/*
 * Maximum number of tensors, of nodes, and of a node's inputs. A test with larger graphs defines
 * PLAY_MOST before it includes this header.
 */
#ifndef PLAY_MOST
#define PLAY_MOST 32
#endif
enum { MOST = PLAY_MOST, MOST_BYTES = 8192 };

/* An array of ints in TensorFlow Lite's layout, with a fixed capacity. */
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
	int params[MOST][64];
	int num_nodes;
	struct list plan;
	struct list unread;		/* output tensors that no node reads */
	struct tfl_ints *resized[MOST];	/* dimensions that the last resize() of a tensor set */

	struct tfl_partition partitions[MOST];
	struct list parts[MOST][3];
	struct tfl_registration kernel;
	struct tfl_node kernels[MOST];
	int num_kernels;
	char error[256];
};

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

static size_t size_of(const struct tfl_tensor *t)
{
	size_t size = t->type == TFL_FLOAT32 || t->type == TFL_INT32 ? 4 :
		      t->type == TFL_INT64 ? 8 : t->type == TFL_FLOAT16 ? 2 : 1;

	for (int i = 0; i < t->dims->size; i++)
		size *= t->dims->data[i] > 0 ? (size_t)t->dims->data[i] : 0;
	return size;
}

static int resize(struct tfl_context *context, struct tfl_tensor *t, struct tfl_ints *dims)
{
	struct world *w = of(context);
	const int i = (int)(t - w->tensors);

	free(w->resized[i]);
	t->dims = w->resized[i] = dims;
	t->contents = w->data[i];
	t->bytes = size_of(t);
	return t->bytes > MOST_BYTES ? TFL_ERROR : TFL_OK;
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

/*
 * Fills lists with an index far beyond all tensors and nodes, so that a test crashes if the delegate
 * reads beyond the end of a list.
 */
static void clear(struct list *lists, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		lists[i].size = 0;
		for (int k = 0; k < MOST; k++)
			lists[i].data[k] = 1 << 30;
	}
}

/*
 * Divides nodes into partitions of consecutive nodes. The outputs of a partition are the tensors
 * that the partition writes and that nodes outside of the partition read.
 */
static int preview(struct tfl_context *context, const struct tfl_ints *nodes,
		   struct tfl_partition **partitions, int *count)
{
	struct world *w = of(context);

	*count = 0;
	clear(w->parts[0], 3 * MOST);
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
			if (!has(&w->unread, w->outputs[node].data[k]))
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

	if (!w)
		abort();
	clear(w->inputs, MOST);
	clear(w->outputs, MOST);
	clear(&w->plan, 1);
	w->context = (struct tfl_context){
		.get_execution_plan = get_plan, .tensors = w->tensors,
		.report_error = report_error, .get_node = get_node, .replace_nodes = replace,
		.preview_partitions = preview, .resize_tensor = resize,
	};
	return w;
}

static int tensor(struct world *w, int type, int rank, const int *dims)
{
	int i = w->num_tensors++;
	struct tfl_tensor *t = &w->tensors[i];

	w->dims[i].size = rank;
	memcpy(w->dims[i].data, dims, (size_t)rank * sizeof(dims[0]));
	*t = (struct tfl_tensor){ .type = type, .contents = w->data[i], .allocation_type = 2,
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
		if (w->kernels[i].user_data)
			w->kernel.free(&w->context, w->kernels[i].user_data);
	for (int i = 0; i < MOST; i++)
		free(w->resized[i]);
	free(w);
}

#endif /* NN_TESTS_TFLITE_PLAY_H */
