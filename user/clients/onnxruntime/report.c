// SPDX-License-Identifier: MIT
/*
 * Writes a report of the claimed nodes, their multiplications, and the bytes moved to and from the
 * device.
 */
#include "partition.h"

#include <stdlib.h>
#include <string.h>

#include "clients/report.h"

/* Operators whose multiply-adds the report counts; all other operators count as 0. */
static const struct rule {
	const char *op;
	enum { WEIGHTS_FIRST, WEIGHTS_OF_INPUT, INNER, RECURRENT, ATTENTION } kind;
	uint32_t weights;		/* index of the input that has the weights */
} rules[] = {
	{ "Conv", WEIGHTS_FIRST, 1 },
	{ "ConvInteger", WEIGHTS_FIRST, 1 },
	{ "QLinearConv", WEIGHTS_FIRST, 3 },
	{ "ConvTranspose", WEIGHTS_OF_INPUT, 1 },
	{ "Gemm", INNER, 1 },
	{ "MatMul", INNER, 1 },
	{ "MatMulInteger", INNER, 1 },
	{ "QLinearMatMul", INNER, 3 },
	{ "LSTM", RECURRENT, 1 },
	{ "DynamicQuantizeLSTM", RECURRENT, 1 },
	{ "GRU", RECURRENT, 1 },
	{ "RNN", RECURRENT, 1 },
	{ "Attention", ATTENTION, 1 },
	{ "MultiHeadAttention", ATTENTION, 1 },
	{ "FusedConv", WEIGHTS_FIRST, 1 },
	{ "FusedGemm", INNER, 1 },
	{ "FusedMatMul", INNER, 1 },
	{ "QGemm", INNER, 3 },
	{ "MatMulIntegerToFloat", INNER, 1 },
	{ "DynamicQuantizeMatMul", INNER, 1 },
};

/* Returns a dimension of a shape; 1 if the dimension is unknown. */
static uint64_t dimension(const struct shape *shape, int at)
{
	return at >= 0 && at < shape->rank && shape->dims[at] > 0 ? (uint64_t)shape->dims[at] : 1;
}

static uint64_t elements(const struct shape *shape)
{
	uint64_t count = 1;

	for (int i = 0; i < shape->rank; i++)
		count *= dimension(shape, i);
	return count;
}

static const struct shape *shape_of(const struct graph *graph, const uint32_t *values, uint32_t count,
				    uint32_t at)
{
	static const struct shape none = { .rank = 0 };

	return at < count && values[at] != NO_VALUE ? &graph->values[values[at]].shape : &none;
}

uint64_t multiply_adds(const struct graph *graph, const struct node *node)
{
	const struct shape *in = shape_of(graph, node->in, node->in_count, 0);
	const struct shape *out = shape_of(graph, node->out, node->out_count, 0);
	const struct shape *weights;
	const struct rule *rule = NULL;
	uint64_t width;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(node->op, rules[i].op))
			rule = &rules[i];
	if (!rule)
		return 0;
	weights = shape_of(graph, node->in, node->in_count, rule->weights);
	switch (rule->kind) {
	case WEIGHTS_FIRST:
		return elements(out) * (elements(weights) / dimension(weights, 0));
	case WEIGHTS_OF_INPUT:
		return elements(in) * (elements(weights) / dimension(weights, 0));
	case INNER:
		return elements(out) *
		       dimension(in, in->rank - (node_int(node, "transA", 0) ? 2 : 1));
	case RECURRENT:
		return dimension(in, 0) * dimension(in, 1) *
		       (elements(weights) + elements(shape_of(graph, node->in, node->in_count, 2)));
	case ATTENTION:
		if (!is_microsoft(node, "Attention"))
			return (elements(in) + elements(out)) * dimension(weights, weights->rank - 2);
		/*
		 * The columns of attention's weights are Q, K and V side by side; Q and K have the
		 * same width.
		 */
		width = (dimension(weights, 1) - dimension(out, 2)) / 2;
		return elements(in) * dimension(weights, 1) +
		       (dimension(in, 0) * dimension(in, 1) * width + elements(out)) * dimension(in, 1);
	}
	return 0;
}

static uint64_t bytes_of(const struct value *value)
{
	return elements(&value->shape) * onnx_size(value->type);
}

/*
 * Adds the bytes of a value that a node of the part reads or writes, unless `met` says that the
 * value was added before.
 */
static void count_value(const struct graph *graph, const struct partitions *partitions, int32_t part,
			uint32_t number, bool *met, struct report_part *sum)
{
	const struct value *value = number == NO_VALUE ? NULL : &graph->values[number];

	if (!value || met[number])
		return;
	met[number] = true;
	if (value->data)
		sum->constants += value->size;
	else if (!value->producer || partitions->of[value->producer->index] != part)
		sum->in += bytes_of(value);
	else if (value->is_output)
		sum->out += bytes_of(value);
}

/* Adds the bytes of the part's values that nodes outside of the part read. */
static void count_taken(const struct graph *graph, const struct partitions *partitions, int32_t part,
			const struct node *node, bool *met, struct report_part *sum)
{
	for (uint32_t k = 0; k < node->in_count; k++) {
		const struct value *value = node->in[k] == NO_VALUE ? NULL : &graph->values[node->in[k]];

		if (!value || met[node->in[k]] || !value->producer || value->is_output ||
		    partitions->of[value->producer->index] != part)
			continue;
		met[node->in[k]] = true;
		sum->out += bytes_of(value);
	}
}

static bool sum_part(const struct graph *graph, const struct partitions *partitions, int32_t part,
		     struct report_part *sum)
{
	bool *met = calloc((size_t)graph->value_count + 1, 1), *taken = calloc((size_t)graph->value_count + 1, 1);
	bool is_there = false;

	*sum = (struct report_part){ 0 };
	for (uint32_t i = 0; met && taken && i < graph->node_count; i++) {
		const struct node *node = &graph->nodes[i];

		if (partitions->of[i] != part) {
			count_taken(graph, partitions, part, node, taken, sum);
			continue;
		}
		is_there = true;
		for (uint32_t k = 0; k < node->in_count; k++)
			count_value(graph, partitions, part, node->in[k], met, sum);
		for (uint32_t k = 0; k < node->out_count; k++)
			count_value(graph, partitions, part, node->out[k], met, sum);
	}
	free(met);
	free(taken);
	return is_there;
}

void report_graph(const char *path, const struct graph *graph, const struct partitions *partitions,
		  const struct devices *devices, int others)
{
	struct report_part sum;
	char names[256];
	FILE *file;

	devices_names(devices, names, sizeof(names));
	file = others < 0 ? report_open(path, names) : fopen(path, "ae");
	others = others < 0 ? 0 : others;
	if (!file) {
		say(0, 0, "option report: %s cannot be written", path);
		return;
	}
	for (uint32_t i = 0; i < graph->node_count; i++)
		report_node(file, partitions->of[i] < 0 ? -1 : partitions->of[i] + others,
			    graph->nodes[i].op, graph->nodes[i].name,
			    multiply_adds(graph, &graph->nodes[i]), partitions->why[i]);
	for (uint32_t p = 0; p < partitions->count; p++)
		if (sum_part(graph, partitions, (int32_t)p, &sum))
			report_part(file, (int)p + others, &sum);
	fclose(file);
}
