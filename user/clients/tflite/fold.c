/* SPDX-License-Identifier: MIT */
/*
 * Lets TensorFlow Lite compute, before it runs the graph, all values that depend only on shapes.
 * For example, models compute the shape for a RESHAPE from the output of SHAPE. TensorFlow Lite up
 * to 2.14 computes the shape for a RESHAPE only when it runs the graph, so shapes after the RESHAPE
 * are unknown until the run. Versions after 2.14 compute the shape for a RESHAPE when they prepare
 * the graph. This file wraps the functions of nodes that compute shapes, so that versions up to
 * 2.14 also compute shapes when they prepare the graph.
 */
#include <stdlib.h>

#include "clients/tflite/delegate.h"
#include "clients/tflite/members.h"
#include "clients/tflite/operations.h"

/* The original functions of a wrapped node; the node's user_data points to this structure. */
struct wrapped {
	void *user_data;
	node_function *prepare, *invoke;
	void (*free)(struct tfl_context *context, void *buffer);
	bool is_shape;			/* the value depends only on the shapes of its inputs */
	bool is_dense;			/* TensorFlow Lite computes the value only once */
	bool is_value;	/* the value is computed as soon as its inputs are constant */
};

static int call(node_function *original, struct tfl_context *context, struct tfl_node *node)
{
	struct wrapped *w = node->user_data;
	int status;

	node->user_data = w->user_data;
	status = original(context, node);
	w->user_data = node->user_data;
	node->user_data = w;
	return status;
}

static int prepare_wrapped(struct tfl_context *context, struct tfl_node *node)
{
	const struct wrapped *w = node->user_data;

	return call(w->prepare, context, node);
}

static int invoke_wrapped(struct tfl_context *context, struct tfl_node *node)
{
	const struct wrapped *w = node->user_data;

	return call(w->invoke, context, node);
}

/* Prepares a wrapped node, and computes the node's value as soon as its inputs are known. */
static int prepare_early(struct tfl_context *context, struct tfl_node *node)
{
	const struct wrapped *w = node->user_data;
	const struct tfl_ints *in = node->inputs, *out = node->outputs;
	bool is_known = w->is_value;
	int status;

	if (w->is_dense && tensor_is_constant(&context->tensors[out->data[0]]))
		return TFL_OK;
	for (int i = 0; i < in->size && !w->is_shape; i++)
		is_known = is_known &&
			   (in->data[i] < 0 || tensor_is_constant(&context->tensors[in->data[i]]));
	status = prepare_known(context, node, prepare_wrapped);
	for (int i = 0; i < out->size && is_known && status == TFL_OK; i++)
		status = tensor_keep(context, out->data[i], TFL_PERSISTENT_READ_ONLY);
	if (is_known && status == TFL_OK)
		status = invoke_early(context, node, invoke_wrapped);
	return status;
}

static void free_wrapped(struct tfl_context *context, void *buffer)
{
	struct wrapped *w = buffer;

	if (w->free && w->user_data)
		w->free(context, w->user_data);
	free(w);
}

bool fold_node(struct tfl_context *context, struct tfl_node *node,
	       struct tfl_registration *registration, bool is_value, bool now)
{
	struct wrapped *w;

	if (!registration->prepare || !registration->invoke)
		return false;
	if (registration->prepare != prepare_early) {
		w = malloc(sizeof(*w));
		if (!w)
			return false;
		*w = (struct wrapped){
			.user_data = node->user_data, .prepare = registration->prepare,
			.invoke = registration->invoke, .free = registration->free,
			.is_shape = registration->builtin_code == TFL_OP_SHAPE ||
				    registration->builtin_code == TFL_OP_RANK,
			.is_dense = registration->builtin_code == TFL_OP_DENSIFY,
			.is_value = is_value,
		};
		node->user_data = w;
		registration->prepare = prepare_early;
		registration->invoke = invoke_wrapped;
		registration->free = free_wrapped;
	}
	return !now || prepare_early(context, node) == TFL_OK;
}
