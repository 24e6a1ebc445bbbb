/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/delegate.h"
#include "clients/tflite/members.h"
#include "clients/tflite/operations.h"

/* A late partition stays with TensorFlow Lite after so many compilations that were little used. */
enum { MOST_CHANGES = 8, LEAST_RUNS = 2 };

/* The place of an argument when the execution was configured. */
struct place {
	const void *data;
	int handle;
};

/* A tensor whose value gives the shape of another one inside of a late partition. */
struct pin {
	int tensor;
	int allocation;			/* while it does not look constant */
};

struct kernel {
	struct delegate *delegate;
	struct members nodes;
	int *outputs;			/* tensors that the rest of the graph reads */
	bool *known;			/* by output: TensorFlow Lite has computed it */
	int num_outputs;

	bool is_late;			/* the shapes are known only when the kernel runs */
	bool is_whole;			/* nearly all of the graph: it is never too small */
	bool is_left;			/* TensorFlow Lite computes these shapes */
	uint64_t changes, runs;
	struct pin *pins;
	int num_pins;

	/* The fields below belong to one shape, and are freed with its model. */
	struct graph graph;		/* graph with constants that the compilation points to */
	struct constants constants;	/* constants in the model file */
	ANeuralNetworksModel *model;
	bool built;
	bool is_idle;			/* there is nothing to compute, so there is no model */
	struct graph_port *ports;	/* inputs, then outputs, in the model's order */
	uint32_t num_inputs, num_ports;
	int *shapes;			/* ranks and dimensions for which it was built */
	size_t num_shapes;

	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksBurst *burst;
	ANeuralNetworksExecution *execution;
	struct place *places;		/* by port */
	/*
	 * for each port: memory that receives a new state, or holds an int64 tensor as int32; or
	 * NULL
	 */
	char **own;
};

/* ---- Building ---- */

static void free_compilation(struct kernel *k)
{
	ANeuralNetworksExecution_free(k->execution);
	ANeuralNetworksBurst_free(k->burst);
	ANeuralNetworksCompilation_free(k->compilation);
	k->execution = NULL;
	k->burst = NULL;
	k->compilation = NULL;
}

static void free_model(struct kernel *k)
{
	free_compilation(k);
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

/* Reports a failure. If TensorFlow Lite computes the nodes instead, it is only logged. */
static int fail(const struct kernel *k, struct tfl_context *context, const char *what,
		const char *why)
{
	if (k->is_left)
		say(k->delegate->options.verbosity, 1,
		    "%d nodes from node %d on stay with TensorFlow Lite: %s: %s", k->nodes.count,
		    k->nodes.list[0].index, what, why);
	else
		context->report_error(context, "nnaccel: %s: %s", what, why);
	return TFL_DELEGATE_ERROR;
}

static int convert(struct kernel *k, struct tfl_context *context)
{
	const uint32_t least = k->is_late && !k->is_whole ? k->delegate->options.min_work : 0;
	struct graph *g = &k->graph;
	uint64_t work = 0;

	for (int i = 0; i < k->nodes.count; i++) {
		const struct member *m = &k->nodes.list[i];
		char what[64];

		g->node = &m->node;
		snprintf(what, sizeof(what), "node %d, %s", m->index, operation_name(m->code) ?: "?");
		if (!operation_convert(g, m->code, m->index))
			return fail(k, context, what, g->l.reason);
		work += g->l.work + g->l.written;
	}
	return work >= least ? TFL_OK : fail(k, context, "it is too small to pay", "see min_work");
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

/* Finds an output that is also a state: it is received once, and copied to both tensors. */
static bool is_state(struct graph *g, int tensor)
{
	for (uint32_t i = 0; i < g->num_states; i++)
		if (g->states[i].shared && g->states[i].operand == g->operand_of[tensor]) {
			g->states[i].also = tensor;
			return true;
		}
	return false;
}

/* Drops operations that no output needs. Returns false if memory runs out. */
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
 * Finds inputs, which the nodes read and do not write, and outputs, which other nodes read, and
 * states.
 */
static int find_ports(struct kernel *k, struct tfl_context *context)
{
	struct graph *g = &k->graph;
	bool *used;

	k->ports = calloc(context->num_tensors + g->num_states + (size_t)k->num_outputs + 1,
			  sizeof(k->ports[0]));
	if (!k->ports)
		return fail(k, context, "no memory", "ports");
	used = prune(k) ? builder_used(&g->b) : NULL;
	if (!used)
		return fail(k, context, "no memory", "ports");
	for (size_t t = 0; t < context->num_tensors; t++)
		if (g->operand_of[t] != NO_OPERAND && used[g->operand_of[t]] && !g->produced[t] &&
		    !tensor_is_constant(&context->tensors[t]))
			add_port(k, (int)t);
	free(used);
	k->num_inputs = k->num_ports;
	for (int i = 0; i < k->num_outputs; i++) {
		/* TensorFlow Lite has computed it. */
		if (tensor_is_constant(&context->tensors[k->outputs[i]]))
			continue;
		if (g->operand_of[k->outputs[i]] == NO_OPERAND || !g->produced[k->outputs[i]])
			return fail(k, context, "an output is not made",
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
		return fail(k, context, "no memory", "ports");
	for (uint32_t i = 0; i < k->num_ports; i++)
		if (k->ports[i].state || k->ports[i].is_wide) {
			k->own[i] = malloc(k->ports[i].size + 1);
			if (!k->own[i])
				return fail(k, context, "no memory", "states");
		}
	return TFL_OK;
}

static int compile(struct kernel *k, struct tfl_context *context)
{
	const struct delegate *d = k->delegate;
	uint32_t *operands = malloc((k->num_ports + 1) * sizeof(operands[0]));
	struct options options = d->options;
	int result;

	if (!operands)
		return fail(k, context, "no memory", "model");
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
	free_compilation(k);
	return fail(k, context, k->model ? "cannot compile" : "NNAPI does not take the model",
		    result_name(result));
}

/*
 * Writes rank and dimensions of a list's tensors to `to` unless NULL, and values that follow from
 * shapes; returns their number.
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

/* Does the same for all tensors that the nodes read and write. */
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

/* Returns whether the shapes are those that it was built for. */
static bool same_shapes(const struct kernel *k, const struct tfl_context *context)
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

/* Remembers the shapes that it was built for. */
static int remember(struct kernel *k, const struct tfl_context *context)
{
	k->num_shapes = describe(k, context, NULL);
	k->shapes = malloc((k->num_shapes + 1) * sizeof(k->shapes[0]));
	if (!k->shapes)
		return TFL_ERROR;
	describe(k, context, k->shapes);
	return TFL_OK;
}

static int build(struct kernel *k, struct tfl_context *context)
{
	int status;

	free_model(k);
	k->built = true;
	if (!graph_init(&k->graph, context, k->delegate)) {
		free_model(k);
		return fail(k, context, "no memory", "model");
	}
	k->graph.is_checked = !k->is_late;
	status = convert(k, context);
	if (status == TFL_OK)
		status = find_ports(k, context);
	k->is_idle = status == TFL_OK && !k->num_ports;
	if (status == TFL_OK && k->is_late && !k->num_inputs)
		status = fail(k, context, "it has no input", "all is constant");
	if (status == TFL_OK && !k->is_idle)
		status = compile(k, context);
	if (status == TFL_OK && remember(k, context) != TFL_OK)
		status = fail(k, context, "no memory", "shapes");
	if (status != TFL_OK)
		free_model(k);
	else
		say(k->delegate->options.verbosity, 2,
		    "compiled %d nodes: %u inputs, %u outputs, %u operations of NNAPI",
		    k->nodes.count, k->num_inputs, k->num_ports - k->num_inputs,
		    k->graph.b.operation_count);
	return status;
}

/* ---- Late partitions ---- */

/* Finds tensors that a late partition reads and whose values give shapes. False: out of memory. */
static bool find_pins(struct kernel *k, const struct tfl_context *context)
{
	bool *passed = calloc(context->num_tensors + 1, sizeof(passed[0]));

	k->pins = calloc(context->num_tensors + 1, sizeof(k->pins[0]));
	for (int i = 0; passed && k->pins && i < k->nodes.count; i++) {
		const struct member *m = &k->nodes.list[i];
		const struct tfl_ints *in = m->node.inputs, *out = m->node.outputs;

		for (int n = 0; n < in->size && n < 31; n++)
			if (m->values >> n & 1 && in->data[n] >= 0 && !passed[in->data[n]]) {
				passed[in->data[n]] = true;
				k->pins[k->num_pins++].tensor = in->data[n];
			}
		for (int n = 0; n < out->size; n++)
			passed[out->data[n]] = true;
	}
	free(passed);
	return passed && k->pins;
}

/* Lets values that give shapes look like constants. */
static void pin(struct kernel *k, struct tfl_context *context)
{
	for (int i = 0; i < k->num_pins; i++) {
		struct tfl_tensor *t = &context->tensors[k->pins[i].tensor];

		k->pins[i].allocation = t->allocation_type;
		if (t->contents && !tensor_is_constant(t) && t->buffer_handle == TFL_NO_BUFFER)
			t->allocation_type = TFL_PERSISTENT_READ_ONLY;
	}
	for (int i = 0; i < k->num_outputs; i++)
		if (k->known[i])
			context->tensors[k->outputs[i]].allocation_type = TFL_PERSISTENT_READ_ONLY;
}

/* Restores pinned tensors. Outputs keep a type for which TensorFlow Lite looks at shapes again. */
static void unpin(struct kernel *k, struct tfl_context *context)
{
	for (int i = 0; i < k->num_pins; i++)
		context->tensors[k->pins[i].tensor].allocation_type = k->pins[i].allocation;
	for (int i = 0; i < k->num_outputs; i++) {
		struct tfl_tensor *t = &context->tensors[k->outputs[i]];

		k->known[i] = t->allocation_type == TFL_PERSISTENT_READ_ONLY;
		if (k->known[i])
			t->allocation_type = TFL_DYNAMIC;
	}
}

/* Builds a late partition for the shapes and values of now, if they are others. */
static void follow(struct kernel *k, struct tfl_context *context)
{
	pin(k, context);
	if (!k->shapes || !same_shapes(k, context)) {
		k->is_left = true;
		if (k->changes >= MOST_CHANGES && k->runs < k->changes * LEAST_RUNS)
			fail(k, context, "shapes change too often", "compiling would take longer");
		else if (members_prepare(&k->nodes, context, true) == TFL_OK)
			k->is_left = build(k, context) != TFL_OK;
		else
			fail(k, context, "a shape", "it is not known before it runs");
		k->changes += !k->is_left;
		if (k->is_left) {
			free_model(k);
			remember(k, context);
		}
	}
	unpin(k, context);
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

static bool in_place(const struct kernel *k, const struct tfl_context *context)
{
	for (uint32_t i = 0; i < k->num_ports; i++) {
		const struct place place = where_is(k, context, i);

		if (k->places[i].data != place.data || k->places[i].handle != place.handle)
			return false;
	}
	return k->execution;
}

static int set_argument(struct kernel *k, uint32_t i)
{
	const struct place *place = &k->places[i];
	bool output = i >= k->num_inputs;
	int32_t index = (int32_t)(output ? i - k->num_inputs : i);
	ANeuralNetworksMemory *memory;
	size_t size;

	if (place->handle == TFL_NO_BUFFER) {
		if (output)
			return ANeuralNetworksExecution_setOutput(k->execution, index, NULL,
								  (void *)place->data,
								  k->ports[i].size);
		return ANeuralNetworksExecution_setInput(k->execution, index, NULL, place->data,
							 k->ports[i].size);
	}
	memory = delegate_memory(k->delegate, place->handle, &size);
	if (!memory || size < k->ports[i].size)
		return ANEURALNETWORKS_BAD_DATA;
	if (output)
		return ANeuralNetworksExecution_setOutputFromMemory(k->execution, index, NULL,
								    memory, 0, k->ports[i].size);
	return ANeuralNetworksExecution_setInputFromMemory(k->execution, index, NULL, memory, 0,
							   k->ports[i].size);
}

/* Configures an execution with the tensors' current places; it is reused while they stay. */
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
	int result = ANEURALNETWORKS_NO_ERROR;

	if (!in_place(k, context))
		result = configure(k, context);
	for (uint32_t i = 0; i < k->num_inputs && result == ANEURALNETWORKS_NO_ERROR; i++)
		if (k->ports[i].is_wide)
			result = copy_wide(k, context, i);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (k->burst)
		return ANeuralNetworksExecution_burstCompute(k->execution, k->burst);
	return ANeuralNetworksExecution_compute(k->execution);
}

/* ---- Functions that TensorFlow Lite calls ---- */

static bool copy_partition(struct kernel *k, struct tfl_context *context,
			   const struct tfl_partition *p)
{
	k->outputs = calloc((size_t)p->outputs->size + 1, sizeof(k->outputs[0]));
	k->known = calloc((size_t)p->outputs->size + 1, sizeof(k->known[0]));
	if (!members_init(&k->nodes, context, p->nodes) || !k->outputs || !k->known)
		return false;
	k->num_outputs = p->outputs->size;
	memcpy(k->outputs, p->outputs->data, (size_t)k->num_outputs * sizeof(k->outputs[0]));
	return true;
}

static void kernel_free(struct tfl_context *context, void *buffer)
{
	struct kernel *k = buffer;

	(void)context;
	if (!k)
		return;
	free_model(k);
	members_free(&k->nodes);
	free(k->outputs);
	free(k->known);
	free(k->pins);
	free(k);
}

static void *kernel_init(struct tfl_context *context, const char *buffer, size_t length)
{
	const struct tfl_partition *p = (const void *)buffer;
	struct kernel *k = calloc(1, sizeof(*k));

	(void)length;
	if (!k)
		return NULL;
	k->delegate = p->delegate->data;
	if (copy_partition(k, context, p))
		return k;
	kernel_free(context, k);
	return NULL;
}

static void *late_init(struct tfl_context *context, const char *buffer, size_t length)
{
	struct kernel *k = kernel_init(context, buffer, length);

	if (!k)
		return NULL;
	k->is_late = true;
	if (find_pins(k, context))
		return k;
	kernel_free(context, k);
	return NULL;
}

static void *whole_init(struct tfl_context *context, const char *buffer, size_t length)
{
	struct kernel *k = late_init(context, buffer, length);

	if (k)
		k->is_whole = true;
	return k;
}

static int kernel_prepare(struct tfl_context *context, struct tfl_node *node)
{
	struct kernel *k = node->user_data;

	if (!k) {
		context->report_error(context, "nnaccel: the partition could not be read: no memory");
		return TFL_DELEGATE_ERROR;
	}
	/* TensorFlow Lite prepares nodes that read these only after each invocation. */
	for (int i = 0; k->is_late && i < k->num_outputs; i++) {
		struct tfl_tensor *t = &context->tensors[k->outputs[i]];

		if (t->allocation_type != TFL_DYNAMIC && t->allocation_type != TFL_PERSISTENT_READ_ONLY)
			t->contents = NULL;
		t->allocation_type = TFL_DYNAMIC;
	}
	if (k->is_late)
		return TFL_OK;
	if (members_prepare(&k->nodes, context, false) != TFL_OK)
		return fail(k, context, "shapes", "TensorFlow Lite finds none");
	if (k->built && same_shapes(k, context))
		return TFL_OK;
	return build(k, context);
}

/* Copies tensors with buffers of the delegate to or from the memory that kernels use. */
static int move_buffers(struct kernel *k, struct tfl_context *context, const struct tfl_ints *list,
			bool in)
{
	struct tfl_delegate *d = &k->delegate->base;
	int status = TFL_OK;

	for (int i = 0; i < list->size && status == TFL_OK; i++) {
		struct tfl_tensor *t = list->data[i] < 0 ? NULL : &context->tensors[list->data[i]];

		if (t && t->delegate == d && t->buffer_handle != TFL_NO_BUFFER)
			status = in ? d->copy_from_buffer(context, d, t->buffer_handle, t) :
				      d->copy_to_buffer(context, d, t->buffer_handle, t);
	}
	return status;
}

/* Computes the nodes by TensorFlow Lite's kernels. */
static int invoke_left(struct kernel *k, struct tfl_context *context, struct tfl_node *node)
{
	int status = move_buffers(k, context, node->inputs, true);

	if (status == TFL_OK)
		status = members_invoke(&k->nodes, context);
	return status == TFL_OK ? move_buffers(k, context, node->outputs, false) : status;
}

static int kernel_invoke(struct tfl_context *context, struct tfl_node *node)
{
	struct kernel *k = node->user_data;
	int result;

	if (k->is_late)
		follow(k, context);
	if (k->is_late && k->is_left)
		return invoke_left(k, context, node);
	k->runs++;
	result = k->is_idle ? ANEURALNETWORKS_NO_ERROR : k->compilation ? execute(k, context) :
		 ANEURALNETWORKS_DEAD_OBJECT;
	if (result == ANEURALNETWORKS_DEAD_OBJECT) {
		/* The engine died with its models. A new one may run already. */
		say(k->delegate->options.verbosity, 1, "the device's engine died; compiling again");
		if (k->is_late)
			pin(k, context);
		result = build(k, context);
		if (k->is_late)
			unpin(k, context);
		if (result != TFL_OK)
			return result;
		result = execute(k, context);
	}
	if (result != ANEURALNETWORKS_NO_ERROR)
		return fail(k, context, "cannot execute", result_name(result));
	for (uint32_t i = k->num_inputs; i < k->num_ports; i++) {
		const struct graph_port *port = &k->ports[i];
		struct tfl_tensor *t = &context->tensors[port->tensor];

		if (port->is_wide) {
			if (copy_wide(k, context, i) != ANEURALNETWORKS_NO_ERROR)
				return fail(k, context, "an int64 output has no place", t->name ?: "");
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

struct tfl_registration kernel_registration(bool is_late, bool is_whole)
{
	return (struct tfl_registration){
		.init = !is_late ? kernel_init : is_whole ? whole_init : late_init,
		.free = kernel_free,
		.prepare = kernel_prepare,
		.invoke = kernel_invoke,
		.builtin_code = TFL_BUILTIN_DELEGATE,
		.custom_name = "nnaccel",
		.version = 1,
	};
}
