/* SPDX-License-Identifier: MIT */
/*
 * Writes a report of the claimed nodes, their multiplications, and the bytes moved to and from the
 * device.
 */
#include "clients/tflite/report.h"

#include <stdio.h>

#include "clients/report.h"
#include "clients/tflite/operations.h"

static uint64_t elements(const struct tfl_tensor *t)
{
	uint64_t count = 1;

	for (int i = 0; t && t->dims && i < t->dims->size; i++)
		count *= t->dims->data[i] > 0 ? (uint64_t)t->dims->data[i] : 1;
	return count;
}

/* Returns dimension `at` of a tensor; a negative `at` counts from the end. */
static uint64_t dimension(const struct tfl_tensor *t, int at)
{
	int size = t && t->dims ? t->dims->size : 0;

	at += at < 0 ? size : 0;
	return at >= 0 && at < size && t->dims->data[at] > 0 ? (uint64_t)t->dims->data[at] : 1;
}

static const struct tfl_tensor *tensor_of(const struct tfl_context *c, const struct tfl_ints *list, int at)
{
	return list && at < list->size && list->data[at] >= 0 ? &c->tensors[list->data[at]] : NULL;
}

/*
 * Counts the work of a recurrent operation, which multiplies each step of the input by each matrix.
 */
static uint64_t recurrent(const struct tfl_context *c, const struct tfl_node *node)
{
	const struct tfl_tensor *in = tensor_of(c, node->inputs, 0);
	uint64_t weights = 0;

	for (int i = 1; i < node->inputs->size; i++) {
		const struct tfl_tensor *t = tensor_of(c, node->inputs, i);

		if (t && t->dims && t->dims->size == 2 && !t->is_variable)
			weights += elements(t);
	}
	return weights * (elements(in) / dimension(in, -1));
}

static uint64_t multiply_adds(const struct tfl_context *c, const struct candidate *n)
{
	const struct tfl_tensor *in = tensor_of(c, n->node->inputs, 0);
	const struct tfl_tensor *weights = tensor_of(c, n->node->inputs, 1);
	uint64_t out = elements(tensor_of(c, n->node->outputs, 0));
	const struct tfl_batch_matmul *matmul = n->node->builtin_data;

	switch (n->code) {
	case TFL_OP_CONV_2D:
	case TFL_OP_FULLY_CONNECTED:
		return out * (elements(weights) / dimension(weights, 0));
	case TFL_OP_DEPTHWISE_CONV_2D:
		return out * (elements(weights) / dimension(weights, -1));
	case TFL_OP_TRANSPOSE_CONV:
		return elements(tensor_of(c, n->node->inputs, 2)) * (elements(weights) / dimension(weights, -1));
	case TFL_OP_Convolution2DTransposeBias:
		return elements(in) * (elements(weights) / dimension(weights, -1));
	case TFL_OP_BATCH_MATMUL:
		return out * dimension(in, matmul && matmul->adj_x ? -2 : -1);
	case TFL_OP_LSTM:
	case TFL_OP_RNN:
	case TFL_OP_UNIDIRECTIONAL_SEQUENCE_RNN:
	case TFL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM:
	case TFL_OP_BIDIRECTIONAL_SEQUENCE_RNN:
	case TFL_OP_BIDIRECTIONAL_SEQUENCE_LSTM:
		return recurrent(c, n->node);
	}
	return 0;
}

static void report_parts(const struct tfl_context *c, FILE *file, int first, const struct tfl_partition *parts,
			 int count)
{
	for (int p = 0; p < count; p++) {
		struct report_part sum = { 0 };

		for (int i = 0; i < parts[p].inputs->size; i++) {
			const struct tfl_tensor *t = tensor_of(c, parts[p].inputs, i);

			if (t && tensor_is_constant(t))
				sum.constants += t->bytes;
			else if (t)
				sum.in += t->bytes;
		}
		for (int i = 0; i < parts[p].outputs->size; i++)
			sum.out += tensor_of(c, parts[p].outputs, i)->bytes;
		report_part(file, first + p, &sum);
	}
}

static const char *why_of(const struct candidate *n)
{
	if (n->taken && n->deferred)
		return "it is compiled when its shapes are known";
	return n->taken && n->dequantises ? "its weights are dequantised" : n->why;
}

/*
 * Finds the parts of a list of nodes. Writes the parts to the file or, if `nodes` is not NULL, the
 * parts' numbers to `nodes`. Returns the number of parts.
 */
static int find_parts(struct tfl_context *context, FILE *file, int first, struct candidate *nodes, int count,
		      const struct tfl_ints *list)
{
	struct tfl_partition *parts = NULL;
	int num = 0;

	if (list->size && context->preview_partitions)
		context->preview_partitions(context, list, &parts, &num);
	for (int p = 0; p < num && nodes; p++)
		for (int i = 0; i < count; i++)
			if (list_has(parts[p].nodes, nodes[i].index))
				nodes[i].part = first + p;
	if (!nodes)
		report_parts(context, file, first, parts, num);
	return num;
}

void report_graph(struct tfl_context *context, struct delegate *delegate, struct candidate *nodes,
		  int count, struct tfl_ints *const lists[2])
{
	char names[256];
	bool is_first;
	FILE *file;
	int first;

	devices_names(&delegate->devices, names, sizeof(names));
	pthread_mutex_lock(&delegate->lock);
	is_first = !delegate->reported || delegate->reported == context;
	first = is_first ? 0 : delegate->reported_parts;
	file = is_first ? report_open(delegate->options.report, names) : fopen(delegate->options.report, "ae");
	if (!file) {
		pthread_mutex_unlock(&delegate->lock);
		say(0, 0, "option report: %s cannot be written", delegate->options.report);
		return;
	}
	for (int i = 0; i < count; i++)
		nodes[i].part = -1;
	delegate->reported_parts = first + find_parts(context, file, first, nodes, count, lists[0]);
	delegate->reported_parts += find_parts(context, file, delegate->reported_parts, nodes, count, lists[1]);
	for (struct candidate *n = nodes; n < nodes + count; n++) {
		const struct tfl_tensor *out = tensor_of(context, n->node->outputs, 0);

		report_node(file, n->part, operation_name(n->code), out ? out->name : NULL,
			    multiply_adds(context, n), why_of(n));
	}
	first += find_parts(context, file, first, NULL, 0, lists[0]);
	find_parts(context, file, first, NULL, 0, lists[1]);
	fclose(file);
	if (is_first)
		delegate->reported = context;
	pthread_mutex_unlock(&delegate->lock);
}
