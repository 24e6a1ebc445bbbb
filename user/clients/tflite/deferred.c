/* SPDX-License-Identifier: MIT */
/*
 * Deferred partitions, whose shapes are known only when TensorFlow Lite invokes the partition. At
 * first all nodes are one part, which is compiled for the shapes of an invocation. If NNAPI rejects
 * a node, TensorFlow Lite's kernel computes the node, and the nodes before and after the rejected
 * node become separate parts.
 */
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/kernel.h"

/*
 * After MOST_CHANGES compilations, TensorFlow Lite computes a part if each compilation was used for
 * fewer than LEAST_RUNS runs on average.
 */
enum { MOST_CHANGES = 8, LEAST_RUNS = 2, MOST_PARTS = 16 };

/*
 * Finds tensors that a part writes, and that later parts or the rest of the graph read. Returns
 * false if memory runs out.
 */
static bool find_outputs(struct kernel *part, const struct kernel *k,
			 const struct tfl_context *context)
{
	const struct member *end = part->nodes.list + part->nodes.count;
	bool *read = calloc(context->num_tensors + 1, sizeof(read[0]));

	part->outputs = calloc(context->num_tensors + 1, sizeof(part->outputs[0]));
	part->known = calloc(context->num_tensors + 1, sizeof(part->known[0]));
	for (int i = 0; read && i < k->num_outputs; i++)
		read[k->outputs[i]] = true;
	for (const struct member *m = end; read && m < k->nodes.list + k->nodes.count; m++)
		for (int i = 0; i < m->node.inputs->size; i++)
			if (m->node.inputs->data[i] >= 0)
				read[m->node.inputs->data[i]] = true;
	for (const struct member *m = part->nodes.list; read && part->outputs && m < end; m++)
		for (int i = 0; i < m->node.outputs->size; i++)
			if (read[m->node.outputs->data[i]])
				part->outputs[part->num_outputs++] = m->node.outputs->data[i];
	free(read);
	return read && part->outputs && part->known;
}

/*
 * Finds tensors that a part reads and whose values determine shapes. Returns false if memory runs
 * out.
 */
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

static void free_part(struct kernel *part)
{
	if (!part)
		return;
	kernel_free_model(part);
	free(part->outputs);
	free(part->known);
	free(part->pins);
	free(part);
}

/* Makes a part of consecutive nodes. Returns NULL if memory runs out. */
static struct kernel *new_part(const struct kernel *k, struct member *first, int count,
			       const struct tfl_context *context)
{
	struct kernel *part = malloc(sizeof(*part));

	if (!part)
		return NULL;
	*part = (struct kernel){
		.delegate = k->delegate, .is_deferred = true, .refused = -1,
		.is_whole = k->is_whole && count == k->nodes.count,
		.nodes = { .list = first, .count = count, .before = k->nodes.before },
	};
	if (find_outputs(part, k, context) && find_pins(part, context))
		return part;
	free_part(part);
	return NULL;
}

bool deferred_init(struct kernel *k, const struct tfl_context *context)
{
	k->parts = calloc(MOST_PARTS, sizeof(k->parts[0]));
	if (!k->parts)
		return false;
	k->num_parts = 1;
	k->parts[0] = new_part(k, k->nodes.list, k->nodes.count, context);
	return k->parts[0];
}

void deferred_free(struct kernel *k)
{
	for (int i = 0; i < k->num_parts; i++)
		free_part(k->parts[i]);
	free(k->parts);
}

/*
 * Divides a part into the refused node and the nodes before and after it. Returns false and changes
 * nothing if splitting is not possible.
 */
static bool split(struct kernel *k, int number, const struct tfl_context *context)
{
	const struct kernel *part = k->parts[number];
	const int counts[3] = { part->refused, 1, part->nodes.count - part->refused - 1 };
	struct member *first = part->nodes.list;
	struct kernel *parts[3] = { NULL };
	int count = 0;

	if (part->refused < 0 || part->nodes.count == 1 || k->num_parts + 2 > MOST_PARTS)
		return false;
	for (int i = 0; i < 3; first += counts[i++]) {
		if (!counts[i])
			continue;
		parts[count++] = new_part(k, first, counts[i], context);
		if (parts[count - 1])
			continue;
		while (count--)
			free_part(parts[count]);
		return false;
	}
	free_part(k->parts[number]);
	memmove(&k->parts[number + count], &k->parts[number + 1],
		(size_t)(k->num_parts - number - 1) * sizeof(k->parts[0]));
	memcpy(&k->parts[number], parts, (size_t)count * sizeof(parts[0]));
	k->num_parts += count - 1;
	return true;
}

void deferred_prepare(struct kernel *k, struct tfl_context *context)
{
	for (int i = 0; i < k->num_outputs; i++) {
		struct tfl_tensor *t = &context->tensors[k->outputs[i]];

		if (t->allocation_type != TFL_DYNAMIC && t->allocation_type != TFL_PERSISTENT_READ_ONLY)
			t->contents = NULL;
		t->allocation_type = TFL_DYNAMIC;
	}
}

void deferred_pin(struct kernel *k, struct tfl_context *context)
{
	for (int i = 0; i < k->num_pins; i++) {
		struct tfl_tensor *t = &context->tensors[k->pins[i].tensor];

		k->pins[i].allocation = t->allocation_type;
		if (t->contents && !tensor_is_constant(t) && t->buffer_handle == TFL_NO_BUFFER)
			t->allocation_type = TFL_PERSISTENT_READ_ONLY;
	}
	for (int i = 0; k->is_deferred && i < k->num_outputs; i++)
		if (k->known[i])
			context->tensors[k->outputs[i]].allocation_type = TFL_PERSISTENT_READ_ONLY;
}

/*
 * Restores the tensors that deferred_pin() has changed. Outputs become dynamic, so that TensorFlow
 * Lite reads the outputs' shapes again.
 */
void deferred_unpin(struct kernel *k, struct tfl_context *context)
{
	for (int i = 0; i < k->num_pins; i++)
		context->tensors[k->pins[i].tensor].allocation_type = k->pins[i].allocation;
	for (int i = 0; k->is_deferred && i < k->num_outputs; i++) {
		struct tfl_tensor *t = &context->tensors[k->outputs[i]];

		k->known[i] = t->allocation_type == TFL_PERSISTENT_READ_ONLY;
		if (k->known[i])
			t->allocation_type = TFL_DYNAMIC;
	}
}

/* Compiles a part for the current shapes and values, if shapes or values have changed. */
static void follow(struct kernel *k, struct tfl_context *context)
{
	deferred_pin(k, context);
	if (!k->shapes || !kernel_same_shapes(k, context)) {
		k->is_left = true;
		k->refused = -1;
		if (k->changes >= MOST_CHANGES && k->runs < k->changes * LEAST_RUNS)
			kernel_fail(k, context, "shapes change too often", "compiling would take longer");
		else if (members_prepare(&k->nodes, context, true) == TFL_OK)
			k->is_left = kernel_build(k, context) != TFL_OK;
		else
			kernel_fail(k, context, "a shape", "it depends on computed values");
		k->changes += !k->is_left;
		if (k->is_left) {
			kernel_free_model(k);
			kernel_remember(k, context);
		}
	}
	deferred_unpin(k, context);
}

/*
 * Copies inputs (with `in`) from the delegate's buffers to the memory that TensorFlow Lite's
 * kernels use, or outputs from this memory to the buffers.
 */
static int move_buffers(struct kernel *k, struct tfl_context *context, bool in)
{
	struct tfl_delegate *d = &k->delegate->base;
	int status = TFL_OK;

	for (int n = 0; n < k->nodes.count; n++) {
		const struct tfl_node *node = &k->nodes.list[n].node;
		const struct tfl_ints *list = in ? node->inputs : node->outputs;

		for (int i = 0; i < list->size && status == TFL_OK; i++) {
			struct tfl_tensor *t =
				list->data[i] < 0 ? NULL : &context->tensors[list->data[i]];

			if (t && t->delegate == d && t->buffer_handle != TFL_NO_BUFFER)
				status = in ? d->copy_from_buffer(context, d, t->buffer_handle, t) :
					      d->copy_to_buffer(context, d, t->buffer_handle, t);
		}
	}
	return status;
}

/* Computes a part's nodes by TensorFlow Lite's kernels. */
static int invoke_left(struct kernel *k, struct tfl_context *context)
{
	int status = move_buffers(k, context, true);

	if (status == TFL_OK)
		status = members_invoke(&k->nodes, context);
	return status == TFL_OK ? move_buffers(k, context, false) : status;
}

int deferred_invoke(struct kernel *k, struct tfl_context *context)
{
	int status = TFL_OK;

	for (int i = 0; i < k->num_parts && status == TFL_OK; i++) {
		do
			follow(k->parts[i], context);
		while (k->parts[i]->is_left && split(k, i, context));
		status = k->parts[i]->is_left ? invoke_left(k->parts[i], context) :
			 kernel_run(k->parts[i], context);
	}
	return status;
}
