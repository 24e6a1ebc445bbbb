/* SPDX-License-Identifier: MIT */
/*
 * Lets TensorFlow Lite know early what follows from the shapes of its inputs. Models compute the
 * shape of a RESHAPE from a SHAPE. Versions up to 2.14 do so only when they run, so shapes behind
 * the RESHAPE are unknown before. Later versions compute such values when they prepare. The
 * functions of these nodes are wrapped so that earlier versions do that too.
 */
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/delegate.h"
#include "clients/tflite/operations.h"

/* The original functions of a wrapped node, kept in its user_data. */
struct wrapped {
	void *user_data;
	int (*prepare)(struct tfl_context *context, struct tfl_node *node);
	int (*invoke)(struct tfl_context *context, struct tfl_node *node);
	void (*free)(struct tfl_context *context, void *buffer);
	bool is_shape;			/* the value depends only on the shapes of its inputs */
	bool is_value;	/* the value is computed as soon as its inputs are constant */
};

static int call(int (*original)(struct tfl_context *context, struct tfl_node *node),
		struct tfl_context *context, struct tfl_node *node)
{
	struct wrapped *w = node->user_data;
	int status;

	node->user_data = w->user_data;
	status = original(context, node);
	w->user_data = node->user_data;
	node->user_data = w;
	return status;
}

/* Gives a tensor memory that stays, for a value that is computed now. */
static int keep(struct tfl_context *context, int index)
{
	struct tfl_tensor *t = &context->tensors[index];
	const size_t size = sizeof(*t->dims) + (size_t)t->dims->size * sizeof(t->dims->data[0]);
	struct tfl_ints *dims;

	if (t->allocation_type == TFL_PERSISTENT_READ_ONLY)
		return TFL_OK;
	dims = malloc(size);
	if (!dims)
		return TFL_ERROR;
	memcpy(dims, t->dims, size);
	if (t->allocation_type != TFL_DYNAMIC)
		t->contents = NULL;
	t->allocation_type = TFL_PERSISTENT_READ_ONLY;
	return context->resize_tensor(context, t, dims);
}

/* Computes a node's value while it prepares, when its temporary tensors have no memory yet. */
static int compute(struct tfl_context *context, struct tfl_node *node)
{
	const struct wrapped *w = node->user_data;
	const struct tfl_ints *temporaries = node->temporaries;
	const int count = temporaries ? temporaries->size : 0;
	struct {
		void *usual, *now;
	} *places = calloc((size_t)count + 1, sizeof(places[0]));
	int status = places ? TFL_OK : TFL_ERROR;

	for (int i = 0; i < count && status == TFL_OK; i++) {
		struct tfl_tensor *t = &context->tensors[temporaries->data[i]];

		if (t->allocation_type == TFL_DYNAMIC)
			continue;
		places[i].usual = t->contents;
		places[i].now = t->contents = calloc(1, t->bytes + 1);
		status = t->contents ? TFL_OK : TFL_ERROR;
	}
	if (status == TFL_OK)
		status = call(w->invoke, context, node);
	for (int i = 0; i < count && places; i++)
		if (places[i].now) {
			free(places[i].now);
			context->tensors[temporaries->data[i]].contents = places[i].usual;
		}
	free(places);
	return status;
}

/*
 * Prepares a node. Meanwhile, values that were computed early look like constants of the file,
 * because some operations of some versions accept nothing else.
 */
static int prepare_early(struct tfl_context *context, struct tfl_node *node)
{
	const struct wrapped *w = node->user_data;
	const struct tfl_ints *in = node->inputs, *out = node->outputs;
	bool is_known = w->is_value;
	uint64_t early = 0;
	int status;

	for (int i = 0; i < in->size; i++) {
		struct tfl_tensor *t = in->data[i] < 0 ? NULL : &context->tensors[in->data[i]];

		if (t && i < 64 && t->allocation_type == TFL_PERSISTENT_READ_ONLY) {
			t->allocation_type = TFL_READ_ONLY;
			early |= 1ull << i;
		}
		is_known = is_known && (!t || w->is_shape || t->allocation_type == TFL_READ_ONLY);
	}
	status = call(w->prepare, context, node);
	for (int i = 0; i < out->size && is_known && status == TFL_OK; i++)
		status = keep(context, out->data[i]);
	if (is_known && status == TFL_OK)
		status = compute(context, node);
	for (int i = 0; i < in->size && i < 64; i++)
		if (early >> i & 1)
			context->tensors[in->data[i]].allocation_type = TFL_PERSISTENT_READ_ONLY;
	return status;
}

static int invoke_wrapped(struct tfl_context *context, struct tfl_node *node)
{
	const struct wrapped *w = node->user_data;

	return call(w->invoke, context, node);
}

static void free_wrapped(struct tfl_context *context, void *buffer)
{
	struct wrapped *w = buffer;

	if (w->free && w->user_data)
		w->free(context, w->user_data);
	free(w);
}

bool fold_node(struct tfl_context *context, struct tfl_node *node,
	       struct tfl_registration *registration, bool is_value)
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
			.is_value = is_value,
		};
		node->user_data = w;
		registration->prepare = prepare_early;
		registration->invoke = invoke_wrapped;
		registration->free = free_wrapped;
	}
	return !is_value || prepare_early(context, node) == TFL_OK;
}
