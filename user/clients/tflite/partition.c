/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/delegate.h"
#include "clients/tflite/operations.h"
#include "clients/tflite/report.h"

struct choice {
	struct tfl_context *context;
	struct delegate *delegate;
	struct candidate *nodes;	/* nodes in the order of the execution plan */
	int count;
	/* for each tensor: true if the tensor's shape is unknown until run time */
	bool *dynamic;
	bool *shapes;	/* for each tensor: true if the tensor's value depends on shapes only */
};

static void leave(struct choice *c, struct candidate *n, const char *why)
{
	const char *name = operation_name(n->code);

	n->taken = false;
	free(n->why);
	n->why = strdup(why);
	say(c->delegate->options.verbosity, 1, "node %d, %s, is left to TensorFlow Lite: %s",
	    n->index, name ? name : "an unknown operation", why);
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
 * Checks that all tensors of a graph exist, and that each tensor is written once before it is read.
 * TensorFlow Lite itself does not check graphs before it partitions them. If is_sound() returns
 * false, the delegate does not change the graph.
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
	c->shapes = calloc(c->context->num_tensors + 1, sizeof(c->shapes[0]));
	if (!c->nodes || !c->dynamic || !c->shapes)
		return false;
	c->count = plan->size;
	for (int i = 0; i < c->count; i++)
		c->nodes[i].index = plan->data[i];
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];

		if (c->context->get_node(c->context, n->index, &node, &registration) != TFL_OK)
			return false;
		n->node = node;
		n->code = operation_code(registration);
		n->taken = !node->delegate && n->code != TFL_BUILTIN_DELEGATE;
		n->can_be_deferred = registration->prepare && registration->invoke;
	}
	return true;
}

/*
 * Returns whether a tensor of the list has an unknown shape. With `mark`, marks the shapes of all
 * tensors in the list as unknown.
 */
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

static bool only_constants(const struct choice *c, const struct candidate *n)
{
	for (int i = 0; i < n->node->inputs->size; i++) {
		int t = n->node->inputs->data[i];

		if (t >= 0 && !tensor_is_constant(&c->context->tensors[t]))
			return false;
	}
	return true;
}

/*
 * Returns whether a node converts a sparse tensor to a dense tensor; NNAPI has no sparse tensors.
 */
static bool is_dense(const struct choice *c, const struct candidate *n)
{
	return n->code == TFL_OP_DENSIFY && n->node->outputs->size == 1 && only_constants(c, n);
}

/*
 * Returns whether the values of a node's outputs depend on shapes only: the node is SHAPE or RANK,
 * or computes only from outputs of such nodes.
 */
static bool follows_shapes(const struct choice *c, const struct candidate *n)
{
	const struct tfl_ints *in = n->node->inputs, *out = n->node->outputs;
	bool follows = n->code == TFL_OP_SHAPE || n->code == TFL_OP_RANK;

	for (int i = 0; i < in->size && !follows; i++)
		follows = in->data[i] >= 0 && c->shapes[in->data[i]];
	for (int i = 0; i < in->size && n->code != TFL_OP_SHAPE && n->code != TFL_OP_RANK; i++)
		follows = follows && (in->data[i] < 0 || c->shapes[in->data[i]] ||
				      tensor_is_constant(&c->context->tensors[in->data[i]]));
	for (int i = 0; i < out->size; i++)
		follows = follows && tensor_count(&c->context->tensors[out->data[i]]) <= 64;
	return follows && !operation_why(n->code);
}

/*
 * Wraps nodes, so that TensorFlow Lite computes shapes while preparing the graph, if the shapes
 * depend only on other shapes. Without wrapping, TensorFlow Lite prepares nodes only up to the
 * first node whose output shapes are known at run time. Nodes after the first node with unknown
 * output shapes are prepared when they run.
 */
static bool fold_shapes(struct choice *c)
{
	bool *deferred = calloc((size_t)c->count + 1, sizeof(deferred[0])), any = false;
	struct graph g = { .context = c->context };
	struct tfl_registration *registration;
	struct tfl_node *node;
	int end = c->count;

	for (int i = 0; deferred && i < c->count; i++) {
		const struct candidate *n = &c->nodes[i];
		enum deferral when;

		g.node = n->node;
		when = operation_deferral(&g, n->code, c->shapes);
		if (when == DEFERRED && end > i)
			end = i;
		deferred[i] = when == DEFERRED_BY_SHAPES;
		any = any || deferred[i] || is_dense(c, n);
		for (int o = 0; o < n->node->outputs->size; o++)
			c->shapes[n->node->outputs->data[o]] = follows_shapes(c, n);
	}
	for (int i = 0; i < c->count && any; i++) {
		const struct candidate *n = &c->nodes[i];
		const bool is_now = is_dense(c, n);
		const bool is_value = is_now || (n->node->outputs->size &&
						 c->shapes[n->node->outputs->data[0]]);

		if (n->taken && (is_value || deferred[i]) &&
		    c->context->get_node(c->context, n->index, &node, &registration) == TFL_OK)
			fold_node(c->context, node, registration, is_value,
				  is_now || (is_value && i < end));
	}
	free(deferred);
	return deferred;
}

/*
 * Rejects nodes that the translators reject. The function check_each() only checks deferred nodes,
 * which are translated when they run.
 */
static bool check_each(struct choice *c)
{
	struct graph g;
	bool ok = graph_init(&g, c->context, c->delegate);

	for (int i = 0; i < c->count && ok; i++) {
		struct candidate *n = &c->nodes[i];
		const char *why = operation_why(n->code);

		g.node = n->node;
		n->deferred = dynamic(c, n->node->inputs, false) ||
			  operation_deferral(&g, n->code, NULL) != NOT_DEFERRED;
		if (n->deferred)
			dynamic(c, n->node->outputs, true);
		if (!n->taken)
			continue;
		if (n->deferred && !n->can_be_deferred)
			why = why ?: "its shape is known only when it runs, and no function computes it";
		if (!why && !(n->deferred ? operation_check(&g, n->code) :
			      operation_convert(&g, n->code, n->index)))
			why = g.l.reason;
		n->work = g.l.work + g.l.written;
		n->dequantises = g.dequantises;
		if (why)
			leave(c, n, why);
	}
	graph_free(&g);
	return ok;
}

bool list_has(const struct tfl_ints *list, int number)
{
	for (int i = 0; list && i < list->size; i++)
		if (list->data[i] == number)
			return true;
	return false;
}

/* Rejects deferred nodes whose values determine shapes of other deferred nodes. */
static void leave_values(struct choice *c)
{
	for (int i = 0; i < c->count; i++) {
		const struct candidate *n = &c->nodes[i];
		const uint32_t values = n->taken && n->deferred ? operation_values(n->code) : 0;
		const struct tfl_ints *in = n->node->inputs;

		for (int v = 0; v < in->size && v < 31; v++)
			for (int k = 0; k < i && values >> v & 1 && in->data[v] >= 0; k++)
				if (c->nodes[k].taken && c->nodes[k].deferred && !c->shapes[in->data[v]] &&
				    list_has(c->nodes[k].node->outputs, in->data[v]))
					leave(c, &c->nodes[k], "the shape of another node depends "
							       "on its value");
	}
}

/*
 * Asks which operations the devices support: in the whole graph or, with `each`, in each node.
 * Returns false if NNAPI rejects the graph.
 */
static bool ask(struct choice *c, const struct graph *g, struct constants *constants, bool each,
		bool *supported)
{
	const struct delegate *d = c->delegate;
	const ANeuralNetworksDevice *const *devices = d->devices.list;
	const uint32_t count = g->b.operation_count;
	char text[BUILDER_WHY + 32], why[BUILDER_WHY] = "";
	int result = ANEURALNETWORKS_NO_ERROR;

	if (!each)
		result = builder_ask(&g->b, 0, count, constants, devices, d->devices.count,
				     supported, why);
	if (*why)
		return false;
	for (uint32_t at = 0, end, i = 0; i < (uint32_t)c->count; i++, at = end) {
		struct candidate *n = &c->nodes[i];

		end = at < count && g->b.operations[at].node == (uint32_t)n->index ?
		      builder_end(&g->b, at) : at;
		if (each && end > at)
			builder_ask(&g->b, at, end, constants, devices, d->devices.count,
				    supported + at, why);
		if (*why) {
			snprintf(text, sizeof(text), "NNAPI refuses it: %s", why);
			leave(c, n, text);
		}
		why[0] = '\0';
		for (uint32_t o = at; o < end && n->taken && !each; o++)
			if (result || !supported[o])
				leave(c, n, result ? "the device does not answer" :
						      "no device supports it");
	}
	return true;
}

/* Rejects nodes that NNAPI rejects, and nodes that no device supports. */
static bool check_devices(struct choice *c)
{
	for (int attempt = 0; ; attempt++) {
		struct constants constants = { .placeholders = true, .size = 64 << 20 };
		struct graph g;
		bool ok = graph_init(&g, c->context, c->delegate), taken = false, *supported = NULL;

		for (int i = 0; i < c->count && ok; i++) {
			struct candidate *n = &c->nodes[i];

			g.node = n->node;
			if (n->taken && !n->deferred && !operation_convert(&g, n->code, n->index))
				leave(c, n, g.l.reason);
		}
		supported = calloc(g.b.operation_count + 1, sizeof(supported[0]));
		ok = ok && supported && !g.b.failed;
		taken = !ok || !g.b.operation_count || ask(c, &g, &constants, false, supported);
		/* NNAPI has rejected the whole model, so find the node that NNAPI rejects. */
		if (!taken && !attempt)
			ask(c, &g, &constants, true, supported);
		for (int i = 0; i < c->count && !taken && attempt; i++)
			if (c->nodes[i].taken && !c->nodes[i].deferred)
				leave(c, &c->nodes[i], "NNAPI refuses the graph");
		free(supported);
		constants_free(&constants);
		graph_free(&g);
		if (!ok || taken)
			return ok;
	}
}

/*
 * Rejects a node that only computes a constant from constants, if a node that is not claimed reads
 * the result.
 */
static void leave_constants(struct choice *c)
{
	for (int i = 0; i < c->count; i++) {
		struct candidate *n = &c->nodes[i];

		if (!n->taken || !only_constants(c, n) || node_is_folded(c->context, n->node))
			continue;
		for (int j = 0; j < c->count && n->taken; j++)
			for (int o = 0; o < n->node->outputs->size && n->taken; o++)
				if (!c->nodes[j].taken &&
				    list_has(c->nodes[j].node->inputs, n->node->outputs->data[o]))
					leave(c, n, "a node that is left reads its constant");
	}
}

/*
 * Lists the claimed nodes that are deferred or, without `deferred`, the claimed nodes that are not
 * deferred.
 */
static struct tfl_ints *list_taken(const struct choice *c, bool deferred)
{
	struct tfl_ints *list = malloc(sizeof(*list) + (size_t)c->count * sizeof(int));

	if (!list)
		return NULL;
	list->size = 0;
	for (int i = 0; i < c->count; i++)
		if (c->nodes[i].taken && c->nodes[i].deferred == deferred)
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
			leave(c, find(c, p->nodes->data[i]), why);
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

static bool is_whole(const struct choice *c)
{
	bool whole = true;

	for (int i = 0; i < c->count; i++)
		whole = whole && c->nodes[i].taken;
	return whole;
}

/*
 * Rejects partitions whose work is not worth a call, and the smallest partitions beyond the maximum
 * number of partitions. The work of deferred partitions is not known before they run.
 */
static bool choose_partitions(struct choice *c, bool deferred, int *kept)
{
	const struct options *o = &c->delegate->options;
	const int before = *kept;
	const bool whole = is_whole(c);
	struct tfl_ints *list = list_taken(c, deferred);
	struct tfl_partition *parts = NULL;
	int count = 0;

	if (!list)
		return false;
	if (list->size && (!c->context->preview_partitions ||
			   c->context->preview_partitions(c->context, list, &parts, &count) !=
			   TFL_OK)) {
		free(list);
		return false;
	}
	free(list);
	*kept += count;
	for (int i = 0; i < count; i++) {
		const char *why = NULL;

		if (!has_input(c, &parts[i]))
			why = "its partition has only constant inputs";
		else if (!whole && !deferred && work_of(c, &parts[i]) < o->min_work)
			why = "its partition has less work than min_work";
		if (!why)
			continue;
		drop(c, &parts[i], why);
		--*kept;
	}
	while (o->max_partitions && *kept > (int)o->max_partitions && *kept > before) {
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

/*
 * Logs how many nodes the devices compute, if the verbosity is 1 or more, or if the model has a
 * name.
 */
static void tell(const struct delegate *d, int taken, int nodes, int partitions)
{
	const struct options *o = &d->options;
	char names[256];

	devices_names(&d->devices, names, sizeof(names));
	say(o->verbosity, o->model ? 0 : 1, "%s%s%d of %d nodes%s%s in %d partition%s, for %s",
	    o->runtime ? o->runtime : "", o->runtime ? ": " : "", taken, nodes,
	    o->model ? " of " : "", o->model ? o->model : "", partitions,
	    partitions == 1 ? "" : "s", names);
}

static int replace(struct choice *c, int partitions)
{
	struct tfl_ints *lists[] = { list_taken(c, false), list_taken(c, true) };
	struct tfl_registration *registration;
	const bool whole = is_whole(c);
	struct tfl_node *node;
	int status = lists[0] && lists[1] ? TFL_OK : TFL_ERROR;

	/*
	 * TensorFlow Lite lacks custom operations, so set the functions that compute the output
	 * shapes.
	 */
	for (int i = 0; i < c->count && status == TFL_OK; i++)
		if (c->nodes[i].taken && operation_prepare(c->nodes[i].code)) {
			status = c->context->get_node(c->context, c->nodes[i].index, &node,
						      &registration);
			if (status == TFL_OK && !registration->prepare)
				registration->prepare = operation_prepare(c->nodes[i].code);
		}
	if (status == TFL_OK && c->delegate->options.report)
		report_graph(c->context, c->delegate, c->nodes, c->count, lists);
	else if (status == TFL_OK)
		tell(c->delegate, lists[0]->size + lists[1]->size, c->count, partitions);
	for (int deferred = 0; deferred < 2 && status == TFL_OK; deferred++)
		if (lists[deferred]->size)
			status = c->context->replace_nodes(c->context,
							   kernel_registration(deferred, whole),
							   lists[deferred], &c->delegate->base);
	free(lists[0]);
	free(lists[1]);
	return status;
}

int partition_graph(struct tfl_context *context, struct tfl_delegate *delegate)
{
	struct choice c = { .context = context, .delegate = delegate->data };
	int status = TFL_ERROR, partitions = 0;
	char text[OPTIONS_ERROR_SIZE];
	const char *wrong = runtime_wrong(delegate->data, context, text);
	bool read;

	if (wrong) {
		say(0, 0, "the graph is left to TensorFlow Lite: %s", wrong);
		return TFL_OK;
	}
	read = read_plan(&c);
	if (read && !is_sound(&c)) {
		say(c.delegate->options.verbosity, 1,
		    "the graph is left to TensorFlow Lite: a tensor does not exist, or is written "
		    "twice, or after it is read");
		status = TFL_OK;
	} else if (read && fold_shapes(&c) && check_each(&c) && check_devices(&c)) {
		leave_values(&c);
		leave_constants(&c);
		if (choose_partitions(&c, false, &partitions) &&
		    choose_partitions(&c, true, &partitions))
			status = replace(&c, partitions);
	}
	for (int i = 0; c.nodes && i < c.count; i++)
		free(c.nodes[i].why);
	free(c.nodes);
	free(c.dynamic);
	free(c.shapes);
	if (status != TFL_OK)
		context->report_error(context, "nnaccel: the graph cannot be partitioned");
	return status;
}
