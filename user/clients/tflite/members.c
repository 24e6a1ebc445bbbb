/* SPDX-License-Identifier: MIT */
#include "clients/tflite/members.h"

#include <stdlib.h>
#include <string.h>

#include "clients/tflite/operations.h"

/*
 * Kernels have pointers to tensors. MOST_ADDED is the number of tensors that one call of a kernel
 * may add. ROOM is the number of tensors that TensorFlow Lite can add without moving the existing
 * tensors.
 */
enum { MOST_ADDED = 8, ROOM = 16 };

static struct tfl_ints *copy_ints(const struct tfl_ints *list)
{
	const size_t size = sizeof(*list) + (list ? (size_t)list->size : 0) * sizeof(list->data[0]);
	struct tfl_ints *copy = calloc(1, size);

	if (copy && list)
		memcpy(copy, list, size);
	return copy;
}

bool members_init(struct members *m, struct tfl_context *context, const struct tfl_ints *nodes)
{
	struct tfl_registration *registration;
	struct tfl_node *node;
	int most = 0;

	*m = (struct members){ .list = calloc((size_t)nodes->size + 1, sizeof(m->list[0])) };
	for (; m->list && m->count < nodes->size; m->count++) {
		struct member *member = &m->list[m->count];
		const int index = nodes->data[m->count];

		if (context->get_node(context, index, &node, &registration) != TFL_OK)
			return false;
		*member = (struct member){
			.node = *node, .index = index, .code = operation_code(registration),
			.prepare = registration->prepare, .invoke = registration->invoke,
		};
		member->values = operation_values(member->code);
		member->node.temporaries = copy_ints(node->temporaries);
		if (!member->node.temporaries)
			return false;
		most = node->outputs->size > most ? node->outputs->size : most;
	}
	m->before = calloc((size_t)most + 1, sizeof(m->before[0]));
	return m->list && m->before;
}

void members_free(struct members *m)
{
	for (int i = 0; m->list && i < m->count; i++)
		free(m->list[i].node.temporaries);
	free(m->list);
	free(m->before);
}

int tensor_keep(struct tfl_context *context, int index, int allocation)
{
	struct tfl_tensor *t = &context->tensors[index];
	struct tfl_ints *dims;

	if (t->allocation_type == allocation)
		return TFL_OK;
	dims = copy_ints(t->dims);
	if (!dims)
		return TFL_ERROR;
	if (t->allocation_type != TFL_DYNAMIC && t->allocation_type != TFL_PERSISTENT_READ_ONLY)
		t->contents = NULL;
	t->allocation_type = allocation;
	return context->resize_tensor(context, t, dims);
}

int prepare_known(struct tfl_context *context, struct tfl_node *node, node_function *prepare)
{
	const struct tfl_ints *in = node->inputs;
	uint64_t early = 0;
	int status;

	for (int i = 0; i < in->size && i < 64; i++)
		if (in->data[i] >= 0 &&
		    context->tensors[in->data[i]].allocation_type == TFL_PERSISTENT_READ_ONLY) {
			context->tensors[in->data[i]].allocation_type = TFL_READ_ONLY;
			early |= 1ull << i;
		}
	status = prepare(context, node);
	for (int i = 0; i < in->size && i < 64; i++)
		if (early >> i & 1)
			context->tensors[in->data[i]].allocation_type = TFL_PERSISTENT_READ_ONLY;
	return status;
}

int invoke_early(struct tfl_context *context, struct tfl_node *node, node_function *invoke)
{
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
		status = invoke(context, node);
	for (int i = 0; i < count && places; i++)
		if (places[i].now) {
			free(places[i].now);
			context->tensors[temporaries->data[i]].contents = places[i].usual;
		}
	free(places);
	return status;
}

/*
 * Makes room in TensorFlow Lite's list of tensors. When TensorFlow Lite itself calls a node, it
 * first reserves room for new tensors. If a kernel adds more tensors than reserved, the list moves,
 * although the kernel may still use pointers into the list. The function make_room() adds tensors
 * until TensorFlow Lite has moved the list of tensors and reserved new room.
 */
static bool make_room(struct tfl_context *context, size_t *from)
{
	const struct tfl_tensor *tensors = context->tensors;
	int first;

	if (context->num_tensors - *from + MOST_ADDED <= ROOM)
		return true;
	while (context->tensors == tensors)
		if (context->add_tensors(context, 1, &first) != TFL_OK)
			return false;
	*from = context->num_tensors;
	return true;
}

static int keep_outputs(const struct member *m, struct tfl_context *context)
{
	const struct tfl_ints *out = m->node.outputs;
	int status = TFL_OK;

	for (int i = 0; i < out->size && status == TFL_OK; i++)
		if (context->tensors[out->data[i]].allocation_type != TFL_PERSISTENT_READ_ONLY)
			status = tensor_keep(context, out->data[i], TFL_DYNAMIC);
	return status;
}

/*
 * Computes the output shapes of a node. If `prepare` has not replaced an output's list of
 * dimensions, the output's shape is not known.
 */
static int prepare_deferred(const struct members *m, struct member *member,
			    struct tfl_context *context)
{
	const struct tfl_ints *out = member->node.outputs;
	int status;

	for (int i = 0; i < out->size; i++)
		m->before[i] = context->tensors[out->data[i]].dims;
	status = prepare_known(context, &member->node, member->prepare);
	for (int i = 0; i < out->size && status == TFL_OK; i++)
		if (context->tensors[out->data[i]].dims == m->before[i] &&
		    !tensor_is_constant(&context->tensors[out->data[i]]))
			status = TFL_ERROR;
	return status == TFL_OK ? keep_outputs(member, context) : status;
}

int members_prepare(const struct members *m, struct tfl_context *context, bool deferred)
{
	size_t from = context->num_tensors;
	int status = TFL_OK;

	for (int i = 0; i < m->count && status == TFL_OK; i++) {
		struct member *member = &m->list[i];

		if (!member->prepare)
			continue;
		if (!make_room(context, &from))
			return TFL_ERROR;
		status = deferred ? prepare_deferred(m, member, context) :
			 prepare_known(context, &member->node, member->prepare);
	}
	return status;
}

int members_invoke(const struct members *m, struct tfl_context *context)
{
	size_t from = context->num_tensors;
	int status = TFL_OK;

	for (int i = 0; i < m->count && status == TFL_OK; i++) {
		struct member *member = &m->list[i];

		if (!member->prepare || !member->invoke || !make_room(context, &from))
			return TFL_DELEGATE_ERROR;
		status = member->prepare(context, &member->node);
		if (status == TFL_OK)
			status = keep_outputs(member, context);
		if (status == TFL_OK)
			status = invoke_early(context, &member->node, member->invoke);
	}
	return status;
}
