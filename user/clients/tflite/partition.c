/* SPDX-License-Identifier: MIT */
#include "clients/tflite/partition.h"

#include <stdlib.h>
#include <string.h>

#include "clients/tflite/delegate.h"
#include "clients/tflite/graph.h"
#include "clients/tflite/kernel.h"
#include "clients/tflite/operations.h"
#include "clients/tflite/report.h"

struct choice {
	struct tfl_context *context;
	struct delegate *delegate;
	struct candidate *nodes;	/* in the order of the plan */
	int count;
	bool *dynamic;			/* by tensor: its shape is known only when it is there */
};

static void refuse(struct choice *c, struct candidate *n, const char *why)
{
	const char *name = operation_name(n->code);

	n->taken = false;
	free(n->why);
	n->why = strdup(why);
	delegate_say(c->delegate, 1, "node %d, %s, is left to TensorFlow Lite: %s", n->index,
		     name ? name : "an unknown operation", why);
}

static bool exist(const struct choice *c, const struct tfl_ints *tensors, int least)
{
	for (int i = 0; tensors && i < tensors->size; i++)
		if (tensors->data[i] < least || (tensors->data[i] >= 0 &&
						 (size_t)tensors->data[i] >= c->context->num_tensors))
			return false;
	return true;
}

/*
 * TensorFlow Lite divides a graph without looking whether its tensors exist, and whether each is
 * written once, before it is read. A graph in which they are not is left as it is.
 */
static bool is_sound(struct choice *c)
{
	bool *used = calloc(c->context->num_tensors + 1, sizeof(used[0]));
	bool sound = used;

	for (int i = 0; i < c->count && sound; i++) {
		const struct tfl_ints *in = c->nodes[i].node->inputs;
		const struct tfl_ints *out = c->nodes[i].node->outputs;

		sound = exist(c, in, TFL_NO_TENSOR) && exist(c, out, 0);
		for (int k = 0; sound && in && k < in->size; k++)
			if (in->data[k] != TFL_NO_TENSOR)
				used[in->data[k]] = true;
		for (int k = 0; sound && out && k < out->size; k++) {
			sound = !used[out->data[k]];
			used[out->data[k]] = true;
		}
	}
	free(used);
	return sound;
}

static bool read_plan(struct choice *c)
{
	struct tfl_registration *registration;
	struct tfl_node *node;
	struct tfl_ints *plan;

	if (c->context->get_execution_plan(c->context, &plan) != TFL_OK)
		return false;
	c->nodes = calloc((size_t)plan->size + 1, sizeof(c->nodes[0]));
	c->dynamic = calloc(c->context->num_tensors + 1, sizeof(c->dynamic[0]));
	if (!c->nodes || !c->dynamic)
		return false;
	c->count = plan->size;
	for (int i = 0; i < c->count; i++)
		c->nodes[i].index = plan->data[i];
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];

		if (c->context->get_node(c->context, n->index, &node, &registration) != TFL_OK)
			return false;
		n->node = node;
		n->code = registration->builtin_code;
		n->taken = !node->delegate && n->code != TFL_BUILTIN_DELEGATE;
	}
	return true;
}

/* Whether a tensor of the list is of unknown shape; with `mark`, they all become so. */
static bool dynamic(struct choice *c, const struct tfl_ints *tensors, bool mark)
{
	bool any = false;

	for (int i = 0; tensors && i < tensors->size; i++) {
		int t = tensors->data[i];

		if (t < 0 || (size_t)t >= c->context->num_tensors)
			continue;
		any = any || c->dynamic[t];
		c->dynamic[t] = c->dynamic[t] || mark;
	}
	return any;
}

/* Leaves out what the converters refuse, and what comes after shapes that are unknown. */
static bool check_each(struct choice *c)
{
	struct graph g;

	if (!graph_init(&g, c->context, false)) {
		graph_free(&g);
		return false;
	}
	g.delegate = c->delegate;
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];

		g.node = n->node;
		g.refused = false;
		if (operation_why(n->code))
			graph_refuse(&g, "%s", operation_why(n->code));
		if (dynamic(c, n->node->inputs, false)) {
			graph_refuse(&g, "the shape of an input is known only when it runs");
			dynamic(c, n->node->outputs, true);
		} else if (operation_is_dynamic(&g, n->code)) {
			graph_refuse(&g, "the shape of an output is known only when it runs");
			dynamic(c, n->node->outputs, true);
		}
		if (!n->taken)
			continue;
		if (!g.refused)
			operation_convert(&g, n->code);
		n->work = g.work;
		n->dequantises = g.dequantises;
		if (g.refused)
			refuse(c, n, g.why);
	}
	graph_free(&g);
	return true;
}

/* Builds a model of the nodes taken. NULL: all are in; otherwise the one that NNAPI refuses. */
static struct candidate *build(struct choice *c, struct graph *g, struct candidate *only)
{
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];

		if (!n->taken || (only && n != only))
			continue;
		g->node = n->node;
		g->node_index = n->index;
		operation_convert(g, n->code);
		if (g->refused)
			return n;
	}
	return NULL;
}

/* Whatever nodes make is an output, whatever they do not make an input. */
static bool finish(struct choice *c, struct graph *g)
{
	uint32_t *inputs, *outputs, num_inputs = 0, num_outputs = 0;
	size_t count = c->context->num_tensors + g->num_states + 1;
	int result = ANEURALNETWORKS_OUT_OF_MEMORY;

	inputs = malloc(2 * count * sizeof(inputs[0]));
	if (!inputs)
		return false;
	outputs = inputs + count;
	for (size_t t = 0; t < c->context->num_tensors; t++) {
		if (g->operand_of[t] == GRAPH_NONE)
			continue;
		if (g->produced[t])
			outputs[num_outputs++] = g->operand_of[t];
		else if (!tensor_is_constant(&c->context->tensors[t]))
			inputs[num_inputs++] = g->operand_of[t];
	}
	for (uint32_t i = 0; i < g->num_states; i++)
		if (!g->states[i].shared)
			outputs[num_outputs++] = g->states[i].operand;
	result = ANeuralNetworksModel_identifyInputsAndOutputs(g->model, num_inputs, inputs,
							       num_outputs, outputs);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksModel_finish(g->model);
	free(inputs);
	return result == ANEURALNETWORKS_NO_ERROR;
}

/* Asks the devices. False: no memory. */
static bool ask(struct choice *c, struct graph *g)
{
	const struct delegate *d = c->delegate;
	bool *supported = calloc(g->num_operations + 1, sizeof(supported[0]));
	int result;

	if (!supported)
		return false;
	result = ANeuralNetworksModel_getSupportedOperationsForDevices(
			g->model, (const ANeuralNetworksDevice *const *)d->devices, d->num_devices,
			supported);
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];

		for (uint32_t o = 0; n->taken && o < g->num_operations; o++)
			if (g->node_of[o] == n->index &&
			    (result != ANEURALNETWORKS_NO_ERROR || !supported[o]))
				refuse(c, n, result == ANEURALNETWORKS_NO_ERROR ?
				       "no device takes it" : "the device does not answer");
	}
	free(supported);
	return true;
}

static bool try_each(struct choice *c)
{
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];
		struct graph g;
		bool ok;

		if (!n->taken)
			continue;
		ok = graph_init(&g, c->context, true);
		g.delegate = c->delegate;
		if (ok && (build(c, &g, n) || !finish(c, &g)))
			refuse(c, n, g.refused ? g.why : "NNAPI refuses the operation");
		graph_free(&g);
		if (!ok)
			return false;
	}
	return true;
}

/* Leaves out what NNAPI refuses, and what no device takes. */
static bool check_devices(struct choice *c)
{
	bool tried = false;

	for (;;) {
		struct candidate *refused;
		struct graph g;
		bool ok = graph_init(&g, c->context, true), again = true;

		g.delegate = c->delegate;
		g.constants.placeholders = true;
		refused = ok ? build(c, &g, NULL) : NULL;
		if (refused) {
			refuse(c, refused, g.why);
		} else if (ok && !g.num_operations) {
			again = false;
		} else if (ok && finish(c, &g)) {
			ok = ask(c, &g);
			again = false;
		} else if (ok) {
			/* The model as a whole is refused: which node is it? */
			for (int i = 0; i < c->count && tried; i++)
				if (c->nodes[i].taken)
					refuse(c, &c->nodes[i], "NNAPI refuses the graph");
			ok = try_each(c);
			tried = true;
		}
		graph_free(&g);
		if (!ok || !again)
			return ok;
	}
}

static bool has(const struct tfl_ints *list, int tensor)
{
	for (int i = 0; list && i < list->size; i++)
		if (list->data[i] == tensor)
			return true;
	return false;
}

static bool only_constants(const struct choice *c, const struct candidate *n)
{
	for (int i = 0; i < n->node->inputs->size; i++) {
		int t = n->node->inputs->data[i];

		if (t >= 0 && !tensor_is_constant(&c->context->tensors[t]))
			return false;
	}
	return true;
}

/* A node that only changes constants is no use where others need the result. */
static void leave_constants(struct choice *c)
{
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];

		if (!n->taken || !only_constants(c, n))
			continue;
		for (int j = 0; j < c->count && n->taken; j++)
			for (int o = 0; o < n->node->outputs->size && n->taken; o++)
				if (!c->nodes[j].taken &&
				    has(c->nodes[j].node->inputs, n->node->outputs->data[o]))
					refuse(c, n, "it makes a constant for another node that is");
	}
}

static struct tfl_ints *list_taken(const struct choice *c)
{
	struct tfl_ints *list = malloc(sizeof(*list) + (size_t)c->count * sizeof(int));

	if (!list)
		return NULL;
	list->size = 0;
	for (int i = 0; i < c->count; i++)
		if (c->nodes[i].taken)
			list->data[list->size++] = c->nodes[i].index;
	return list;
}

static struct candidate *find(struct choice *c, int index)
{
	for (int i = 0; i < c->count; i++)
		if (c->nodes[i].index == index)
			return &c->nodes[i];
	return NULL;
}

static uint64_t work_of(struct choice *c, const struct tfl_partition *p)
{
	uint64_t work = 0;

	for (int i = 0; i < p->nodes->size; i++)
		work += find(c, p->nodes->data[i])->work;
	return work;
}

static void drop(struct choice *c, const struct tfl_partition *p, const char *why)
{
	for (int i = 0; i < p->nodes->size; i++)
		if (find(c, p->nodes->data[i])->taken)
			refuse(c, find(c, p->nodes->data[i]), why);
}

static bool is_dropped(struct choice *c, const struct tfl_partition *p)
{
	return !p->nodes->size || !find(c, p->nodes->data[0])->taken;
}

static bool has_input(const struct choice *c, const struct tfl_partition *p)
{
	for (int i = 0; i < p->inputs->size; i++)
		if (p->inputs->data[i] >= 0 &&
		    !tensor_is_constant(&c->context->tensors[p->inputs->data[i]]))
			return true;
	return false;
}

/* Leaves out partitions that are too small to pay, and the smallest of too many. */
static bool choose_partitions(struct choice *c, int *kept)
{
	const struct options *o = &c->delegate->options;
	struct tfl_ints *list = list_taken(c);
	struct tfl_partition *parts = NULL;
	int count = 0;
	bool whole;

	if (!list)
		return false;
	whole = list->size == c->count;
	if (list->size && (!c->context->preview_partitions ||
			   c->context->preview_partitions(c->context, list, &parts, &count) !=
			   TFL_OK)) {
		free(list);
		return false;
	}
	free(list);
	*kept = count;
	for (int i = 0; i < count; i++) {
		const char *why = NULL;

		if (!has_input(c, &parts[i]))
			why = "all of its partition is constant";
		else if (!whole && work_of(c, &parts[i]) < o->min_work)
			why = "its partition is too small to pay";
		if (!why)
			continue;
		drop(c, &parts[i], why);
		--*kept;
	}
	while (o->max_partitions && *kept > (int)o->max_partitions) {
		int least = -1;

		for (int i = 0; i < count; i++)
			if (!is_dropped(c, &parts[i]) &&
			    (least < 0 || work_of(c, &parts[i]) < work_of(c, &parts[least])))
				least = i;
		drop(c, &parts[least], "there are more partitions than max_partitions, and larger "
		     "ones");
		--*kept;
	}
	return true;
}

/* Says how many nodes are where: at verbosity 1, and whenever the model has a name. */
static void tell(const struct delegate *d, int taken, int nodes, int partitions)
{
	const struct options *o = &d->options;

	delegate_say(d, o->model ? 0 : 1, "%s%s%d of %d nodes%s%s in %d partition%s, for %s",
		     o->runtime ? o->runtime : "", o->runtime ? ": " : "", taken, nodes,
		     o->model ? " of " : "", o->model ? o->model : "", partitions,
		     partitions == 1 ? "" : "s", delegate_device(d));
}

static int replace(struct choice *c, int partitions)
{
	struct tfl_ints *list = list_taken(c);
	int status = TFL_OK;

	if (!list)
		return TFL_ERROR;
	if (c->delegate->options.report)
		report_graph(c->context, c->delegate, c->nodes, c->count, list);
	else
		tell(c->delegate, list->size, c->count, partitions);
	if (list->size)
		status = c->context->replace_nodes(c->context, kernel_registration, list,
						   &c->delegate->base);
	free(list);
	return status;
}

int partition_graph(struct tfl_context *context, struct tfl_delegate *delegate)
{
	struct choice c = { .context = context, .delegate = delegate->data };
	int status = TFL_ERROR, partitions;

	bool read = read_plan(&c);

	if (read && !is_sound(&c)) {
		delegate_say(c.delegate, 1, "the graph is left to TensorFlow Lite: a tensor does not "
			     "exist, or is written twice, or after it is read");
		status = TFL_OK;
	} else if (read && check_each(&c) && check_devices(&c)) {
		leave_constants(&c);
		if (choose_partitions(&c, &partitions))
			status = replace(&c, partitions);
	}
	for (int i = 0; c.nodes && i < c.count; i++)
		free(c.nodes[i].why);
	free(c.nodes);
	free(c.dynamic);
	if (status != TFL_OK)
		context->report_error(context, "nnaccel: the graph cannot be partitioned");
	return status;
}
