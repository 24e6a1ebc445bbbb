/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/kernel.h"
#include "clients/tflite/operations.h"

/* ---- Building ---- */

void kernel_free_model(struct kernel *k)
{
	ANeuralNetworksExecution_free(k->execution);
	ANeuralNetworksBurst_free(k->burst);
	ANeuralNetworksCompilation_free(k->compilation);
	for (uint32_t i = 0; k->own && i < k->num_ports; i++)
		free(k->own[i]);
	free(k->own);
	free(k->places);
	free(k->ports);
	free(k->shapes);
	ANeuralNetworksModel_free(k->model);
	constants_free(&k->constants);
	if (k->built)
		graph_free(&k->graph);
	memset(&k->graph, 0, sizeof(*k) - offsetof(struct kernel, graph));
}

int kernel_fail(const struct kernel *k, struct tfl_context *context, const char *what,
		const char *why)
{
	if (k->is_left)
		say(k->delegate->options.verbosity, 1, "%d nodes from node %d on %s: %s: %s",
		    k->nodes.count, k->nodes.list[0].index, k->refused < 0 || k->nodes.count == 1 ?
		    "stay with TensorFlow Lite" : "are divided", what, why);
	else
		context->report_error(context, "nnaccel: %s: %s", what, why);
	return TFL_DELEGATE_ERROR;
}

static int convert(struct kernel *k, struct tfl_context *context)
{
	const uint32_t least = k->is_deferred && !k->is_whole ? k->delegate->options.min_work : 0;
	struct graph *g = &k->graph;
	uint64_t work = 0;

	for (int i = 0; i < k->nodes.count; i++) {
		const struct member *m = &k->nodes.list[i];
		char what[64];

		g->node = &m->node;
		snprintf(what, sizeof(what), "node %d, %s", m->index, operation_name(m->code) ?: "?");
		if (!operation_convert(g, m->code, m->index)) {
			/*
			 * If the node was rejected for a dimension of 0, NNAPI may accept the node
			 * with other shapes.
			 */
			k->refused = g->is_empty ? -1 : i;
			return kernel_fail(k, context, what, g->l.reason);
		}
		work += g->l.work + g->l.written;
	}
	return work >= least ? TFL_OK : kernel_fail(k, context, "it has too little work",
						    "see min_work");
}

static void add_port(struct kernel *k, int tensor)
{
	uint32_t operand = k->graph.operand_of[tensor];

	k->ports[k->num_ports++] = (struct graph_port){
		.operand = operand, .tensor = tensor, .also = TFL_NO_TENSOR,
		.size = (uint32_t)builder_size(&k->graph.b.operands[operand]),
		.is_wide = k->graph.context->tensors[tensor].type == TFL_INT64,
		.is_cut = k->graph.is_cut[tensor],
	};
}

/*
 * Returns whether an output tensor also is a variable tensor's new state. If an output is also a
 * new state, the kernel receives the value once, and copies it to both tensors.
 */
static bool is_state(struct graph *g, int tensor)
{
	for (uint32_t i = 0; i < g->num_states; i++)
		if (g->states[i].shared && g->states[i].operand == g->operand_of[tensor]) {
			g->states[i].also = tensor;
			return true;
		}
	return false;
}

/* Drops operations that are not needed to compute an output. Returns false if memory runs out. */
static bool prune(struct kernel *k)
{
	struct graph *g = &k->graph;
	uint32_t *keep = malloc(((size_t)k->num_outputs + g->num_states + 1) * sizeof(keep[0]));
	uint32_t count = 0;

	for (int i = 0; keep && i < k->num_outputs; i++)
		if (g->operand_of[k->outputs[i]] != NO_OPERAND)
			keep[count++] = g->operand_of[k->outputs[i]];
	for (uint32_t i = 0; keep && i < g->num_states; i++)
		keep[count++] = g->states[i].operand;
	/* A partition may have no outputs. */
	if (keep && count)
		builder_prune(&g->b, count, keep);
	free(keep);
	return keep && !g->b.failed;
}

/*
 * Finds the ports of a partition's model. Inputs are tensors that the partition's nodes only read.
 * Outputs are tensors that nodes outside of the partition read. The ports of variable tensors' new
 * states follow the ports of outputs.
 */
static int find_ports(struct kernel *k, struct tfl_context *context)
{
	struct graph *g = &k->graph;
	bool *used;

	k->ports = calloc(context->num_tensors + g->num_states + (size_t)k->num_outputs + 1,
			  sizeof(k->ports[0]));
	if (!k->ports)
		return kernel_fail(k, context, "no memory", "ports");
	used = prune(k) ? builder_used(&g->b) : NULL;
	if (!used)
		return kernel_fail(k, context, "no memory", "ports");
	for (size_t t = 0; t < context->num_tensors; t++)
		if (g->operand_of[t] != NO_OPERAND && used[g->operand_of[t]] && !g->produced[t] &&
		    !tensor_is_constant(&context->tensors[t]))
			add_port(k, (int)t);
	free(used);
	k->num_inputs = k->num_ports;
	for (int i = 0; i < k->num_outputs; i++) {
		/* Skip a constant output, because TensorFlow Lite has computed its value. */
		if (tensor_is_constant(&context->tensors[k->outputs[i]]))
			continue;
		if (g->operand_of[k->outputs[i]] == NO_OPERAND || !g->produced[k->outputs[i]])
			return kernel_fail(k, context, "no node computes this output",
				    context->tensors[k->outputs[i]].name ?
				    context->tensors[k->outputs[i]].name : "");
		if (!is_state(g, k->outputs[i]))
			add_port(k, k->outputs[i]);
	}
	for (uint32_t i = 0; i < g->num_states; i++)
		k->ports[k->num_ports++] = g->states[i];
	k->places = calloc(k->num_ports + 1, sizeof(k->places[0]));
	k->own = calloc(k->num_ports + 1, sizeof(k->own[0]));
	if (!k->places || !k->own)
		return kernel_fail(k, context, "no memory", "ports");
	for (uint32_t i = 0; i < k->num_ports; i++)
		if (k->ports[i].state || k->ports[i].is_wide) {
			k->own[i] = malloc(k->ports[i].size + 1);
			if (!k->own[i])
				return kernel_fail(k, context, "no memory", "states");
		}
	return TFL_OK;
}

/*
 * Returns the index of the first node of the kernel that NNAPI or the device refuses; -1 if all
 * nodes are accepted.
 */
static int find_refused(struct kernel *k)
{
	const struct builder *b = &k->graph.b;
	const struct devices *devices = &k->delegate->devices;
	bool *supported = calloc(b->operation_count + 1, sizeof(supported[0]));
	int refused = -1;
	char why[BUILDER_WHY];

	for (int i = 0; supported && i < k->nodes.count && refused < 0; i++) {
		uint32_t at = 0, end;

		while (at < b->operation_count &&
		       b->operations[at].node != (uint32_t)k->nodes.list[i].index)
			at++;
		end = builder_end(b, at);
		/* If the device does not answer, the device has not refused the node. */
		if (end > at && builder_ask(b, at, end, &k->constants, devices->list,
					    devices->count, supported + at, why) && !*why)
			break;
		for (; at < end; at++)
			refused = supported[at] ? refused : i;
	}
	free(supported);
	return refused;
}

static int compile(struct kernel *k, struct tfl_context *context)
{
	const struct delegate *d = k->delegate;
	uint32_t *operands = malloc((k->num_ports + 1) * sizeof(operands[0]));
	struct options options = d->options;
	int result;

	if (!operands)
		return kernel_fail(k, context, "no memory", "model");
	for (uint32_t i = 0; i < k->num_ports; i++)
		operands[i] = k->ports[i].operand;
	if (!options.num_threads && context->threads == 1)
		options.num_threads = 1;
	result = builder_compile(&k->graph.b, &k->constants, d->all_devices ? NULL : &d->devices,
				 &options, k->num_inputs, operands, k->num_ports - k->num_inputs,
				 operands + k->num_inputs, &k->model, &k->compilation);
	free(operands);
	if (!result && options.burst)
		result = ANeuralNetworksBurst_create(k->compilation, &k->burst);
	if (!result)
		return TFL_OK;
	if (k->is_deferred)
		k->refused = find_refused(k);
	return kernel_fail(k, context, k->model ? "cannot compile" : "NNAPI rejects the model",
		    result_name(result));
}

/*
 * For all tensors in a list, writes to `to` the rank, the dimensions, and values that depend on
 * shapes. Returns the number of elements that the array `to` must have. If `to` is NULL, only
 * counts the numbers.
 */
static size_t describe_list(const struct tfl_context *context, const struct tfl_ints *list, int *to)
{
	size_t count = 0;

	for (int i = 0; list && i < list->size; i++) {
		const struct tfl_tensor *t;
		const struct tfl_ints *dims;

		if (list->data[i] < 0 || (size_t)list->data[i] >= context->num_tensors)
			continue;
		t = &context->tensors[list->data[i]];
		dims = t->dims;
		if (tensor_is_constant(t) && t->allocation_type == TFL_PERSISTENT_READ_ONLY) {
			if (to)
				memcpy(to + count, t->contents, t->bytes / sizeof(*to) * sizeof(*to));
			count += t->bytes / sizeof(*to);
		}
		for (int d = -1; dims && d < dims->size; d++, count++)
			if (to)
				to[count] = d < 0 ? dims->size : dims->data[d];
	}
	return count;
}

/*
 * For all tensors that the kernel's nodes read and write, writes ranks, dimensions and values as
 * describe_list() does.
 */
static size_t describe(const struct kernel *k, const struct tfl_context *context, int *to)
{
	size_t count = 0;

	for (int i = 0; i < k->nodes.count; i++) {
		const struct tfl_node *node = &k->nodes.list[i].node;

		count += describe_list(context, node->inputs, to ? to + count : NULL);
		count += describe_list(context, node->outputs, to ? to + count : NULL);
	}
	return count;
}

bool kernel_same_shapes(const struct kernel *k, const struct tfl_context *context)
{
	size_t count = describe(k, context, NULL);
	int *shapes = count == k->num_shapes ? malloc((count + 1) * sizeof(shapes[0])) : NULL;
	bool same;

	if (!shapes)
		return false;
	describe(k, context, shapes);
	same = !memcmp(shapes, k->shapes, count * sizeof(shapes[0]));
	free(shapes);
	return same;
}

int kernel_remember(struct kernel *k, const struct tfl_context *context)
{
	k->num_shapes = describe(k, context, NULL);
	k->shapes = malloc((k->num_shapes + 1) * sizeof(k->shapes[0]));
	if (!k->shapes)
		return TFL_ERROR;
	describe(k, context, k->shapes);
	return TFL_OK;
}

int kernel_build(struct kernel *k, struct tfl_context *context)
{
	int status;

	kernel_free_model(k);
	k->built = true;
	if (!graph_init(&k->graph, context, k->delegate)) {
		kernel_free_model(k);
		return kernel_fail(k, context, "no memory", "model");
	}
	k->graph.is_checked = !k->is_deferred;
	status = convert(k, context);
	if (status == TFL_OK)
		status = find_ports(k, context);
	k->is_idle = status == TFL_OK && !k->num_ports;
	if (status == TFL_OK && k->is_deferred && !k->num_inputs)
		status = kernel_fail(k, context, "it has no input", "all is constant");
	if (status == TFL_OK && !k->is_idle)
		status = compile(k, context);
	if (status == TFL_OK && kernel_remember(k, context) != TFL_OK)
		status = kernel_fail(k, context, "no memory", "shapes");
	if (status != TFL_OK)
		kernel_free_model(k);
	else
		say(k->delegate->options.verbosity, 2,
		    "compiled %d nodes: %u inputs, %u outputs, %u operations of NNAPI",
		    k->nodes.count, k->num_inputs, k->num_ports - k->num_inputs,
		    k->graph.b.operation_count);
	return status;
}

/* ---- Executing ---- */

static struct place where_is(const struct kernel *k, const struct tfl_context *context, uint32_t i)
{
	const struct tfl_tensor *t = &context->tensors[k->ports[i].tensor];

	if (k->own[i])
		return (struct place){ k->own[i], TFL_NO_BUFFER };
	if (t->delegate == &k->delegate->base && t->buffer_handle != TFL_NO_BUFFER)
		return (struct place){ NULL, t->buffer_handle };
	return (struct place){ t->contents, TFL_NO_BUFFER };
}

static int set_argument(struct kernel *k, uint32_t i)
{
	const struct place *place = &k->places[i];
	bool output = i >= k->num_inputs;
	int32_t index = (int32_t)(output ? i - k->num_inputs : i);
	ANeuralNetworksMemory *memory;
	size_t size, offset;

	if (place->handle == TFL_NO_BUFFER) {
		if (output)
			return ANeuralNetworksExecution_setOutput(k->execution, index, NULL,
								  (void *)place->data,
								  k->ports[i].size);
		return ANeuralNetworksExecution_setInput(k->execution, index, NULL, place->data,
							 k->ports[i].size);
	}
	memory = delegate_memory(k->delegate, place->handle, &size, &offset);
	if (!memory || size < k->ports[i].size)
		return ANEURALNETWORKS_BAD_DATA;
	if (output)
		return ANeuralNetworksExecution_setOutputFromMemory(k->execution, index, NULL,
								    memory, offset, k->ports[i].size);
	return ANeuralNetworksExecution_setInputFromMemory(k->execution, index, NULL, memory,
							   offset, k->ports[i].size);
}

/*
 * Configures an execution with the current addresses of tensors. The execution is reused until an
 * address changes.
 */
static int configure(struct kernel *k, const struct tfl_context *context)
{
	int result;

	ANeuralNetworksExecution_free(k->execution);
	k->execution = NULL;
	result = ANeuralNetworksExecution_create(k->compilation, &k->execution);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = ANeuralNetworksExecution_setReusable(k->execution, true);
	for (uint32_t i = 0; i < k->num_ports && result == ANEURALNETWORKS_NO_ERROR; i++) {
		const struct tfl_tensor *t = &context->tensors[k->ports[i].tensor];

		k->places[i] = where_is(k, context, i);
		if (t->bytes < k->ports[i].size ||
		    (!k->places[i].data && k->places[i].handle == TFL_NO_BUFFER))
			result = ANEURALNETWORKS_BAD_DATA;
		else
			result = set_argument(k, i);
	}
	if (result != ANEURALNETWORKS_NO_ERROR) {
		ANeuralNetworksExecution_free(k->execution);
		k->execution = NULL;
	}
	return result;
}

static int32_t nearest(int64_t index)
{
	return index > INT32_MAX ? INT32_MAX : index < INT32_MIN ? INT32_MIN : (int32_t)index;
}

/* Copies an int64 tensor to or from its port's int32 numbers. */
static int copy_wide(const struct kernel *k, const struct tfl_context *context, uint32_t i)
{
	const struct tfl_tensor *t = &context->tensors[k->ports[i].tensor];
	const size_t count = k->ports[i].size / sizeof(int32_t);
	int32_t *narrow = (int32_t *)k->own[i];
	int64_t *wide = t->contents;

	if (!wide || t->bytes / sizeof(*wide) < count || t->buffer_handle != TFL_NO_BUFFER)
		return ANEURALNETWORKS_BAD_DATA;
	for (size_t n = 0; n < count; n++)
		if (i >= k->num_inputs)
			wide[n] = narrow[n];
		else
			narrow[n] = k->ports[i].is_cut ? (int32_t)wide[n] : nearest(wide[n]);
	return ANEURALNETWORKS_NO_ERROR;
}

static int execute(struct kernel *k, const struct tfl_context *context)
{
	bool is_in_place = k->execution;
	int result;

	for (uint32_t i = 0; i < k->num_ports; i++) {
		const struct place place = where_is(k, context, i);

		is_in_place = is_in_place && k->places[i].data == place.data &&
			      k->places[i].handle == place.handle;
	}
	result = is_in_place ? ANEURALNETWORKS_NO_ERROR : configure(k, context);
	for (uint32_t i = 0; i < k->num_inputs && result == ANEURALNETWORKS_NO_ERROR; i++)
		if (k->ports[i].is_wide)
			result = copy_wide(k, context, i);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (k->burst)
		return ANeuralNetworksExecution_burstCompute(k->execution, k->burst);
	return ANeuralNetworksExecution_compute(k->execution);
}

int kernel_run(struct kernel *k, struct tfl_context *context)
{
	int result;

	k->runs++;
	result = k->is_idle ? ANEURALNETWORKS_NO_ERROR : k->compilation ? execute(k, context) :
		 ANEURALNETWORKS_DEAD_OBJECT;
	if (result == ANEURALNETWORKS_DEAD_OBJECT) {
		/*
		 * The engine died, and its models are lost. Compile again, because a new engine may
		 * already be running.
		 */
		say(k->delegate->options.verbosity, 1, "the device's engine died; compiling again");
		deferred_pin(k, context);
		result = kernel_build(k, context);
		deferred_unpin(k, context);
		if (result != TFL_OK)
			return result;
		result = execute(k, context);
	}
	if (result != ANEURALNETWORKS_NO_ERROR)
		return kernel_fail(k, context, "cannot execute", result_name(result));
	for (uint32_t i = k->num_inputs; i < k->num_ports; i++) {
		const struct graph_port *port = &k->ports[i];
		struct tfl_tensor *t = &context->tensors[port->tensor];

		if (port->is_wide) {
			if (copy_wide(k, context, i) != ANEURALNETWORKS_NO_ERROR)
				return kernel_fail(k, context,
						   "no memory for this int64 output",
						   t->name ?: "");
			continue;
		}
		if (!k->own[i]) {
			t->data_is_stale = k->places[i].handle != TFL_NO_BUFFER;
			continue;
		}
		memcpy(t->contents, k->own[i], port->size);
		if (port->also != TFL_NO_TENSOR)
			memcpy(context->tensors[port->also].contents, k->own[i], port->size);
	}
	return TFL_OK;
}

/* ---- Functions that TensorFlow Lite calls ---- */

static void kernel_free(struct tfl_context *context, void *buffer)
{
	struct kernel *k = buffer;

	(void)context;
	if (!k)
		return;
	deferred_free(k);
	kernel_free_model(k);
	members_free(&k->nodes);
	free(k->outputs);
	free(k);
}

static void *init(struct tfl_context *context, const char *buffer, bool is_deferred, bool is_whole)
{
	const struct tfl_partition *p = (const void *)buffer;
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->delegate = p->delegate->data;
	k->is_deferred = is_deferred;
	k->is_whole = is_whole;
	k->num_outputs = p->outputs->size;
	k->outputs = calloc((size_t)k->num_outputs + 1, sizeof(k->outputs[0]));
	if (k->outputs)
		memcpy(k->outputs, p->outputs->data, (size_t)k->num_outputs * sizeof(k->outputs[0]));
	if (members_init(&k->nodes, context, p->nodes) && k->outputs &&
	    (!is_deferred || deferred_init(k, context)))
		return k;
	kernel_free(context, k);
	return NULL;
}

static void *kernel_init(struct tfl_context *context, const char *buffer, size_t length)
{
	(void)length;
	return init(context, buffer, false, false);
}

static void *deferred_kernel_init(struct tfl_context *context, const char *buffer, size_t length)
{
	(void)length;
	return init(context, buffer, true, false);
}

static void *whole_init(struct tfl_context *context, const char *buffer, size_t length)
{
	(void)length;
	return init(context, buffer, true, true);
}

static int kernel_prepare(struct tfl_context *context, struct tfl_node *node)
{
	struct kernel *k = node->user_data;

	if (!k) {
		context->report_error(context, "nnaccel: the partition could not be read: no memory");
		return TFL_DELEGATE_ERROR;
	}
	if (k->is_deferred) {
		deferred_prepare(k, context);
		return TFL_OK;
	}
	if (members_prepare(&k->nodes, context, false) != TFL_OK)
		return kernel_fail(k, context, "no shapes", "TensorFlow Lite cannot compute them");
	if (k->built && kernel_same_shapes(k, context))
		return TFL_OK;
	return kernel_build(k, context);
}

static int kernel_invoke(struct tfl_context *context, struct tfl_node *node)
{
	struct kernel *k = node->user_data;

	return k->is_deferred ? deferred_invoke(k, context) : kernel_run(k, context);
}

struct tfl_registration kernel_registration(bool is_deferred, bool is_whole)
{
	return (struct tfl_registration){
		.init = !is_deferred ? kernel_init : is_whole ? whole_init : deferred_kernel_init,
		.free = kernel_free,
		.prepare = kernel_prepare,
		.invoke = kernel_invoke,
		.builtin_code = TFL_BUILTIN_DELEGATE,
		.custom_name = "nnaccel",
		.version = 1,
	};
}
