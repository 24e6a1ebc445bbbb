/* SPDX-License-Identifier: MIT */
/*
 * Serialises a model.
 */
#include <stdlib.h>
#include <string.h>

#include "wire.h"

/*
 * Totals of a model's records. The totals have a wider type than the header's counts, so that no
 * sum overflows.
 */
struct totals {
	uint64_t operands;
	uint64_t operations;
	uint64_t indices;
	uint64_t scales;
	uint64_t bytes;
};

/* The next byte to write in each section. */
struct writer {
	uint8_t *next[W_END];
};

static void put(struct writer *w, enum wire_section section, const void *data, size_t size)
{
	if (size)
		memcpy(w->next[section], data, size);
	w->next[section] += size;
}

static void put_indices(struct writer *w, const uint32_t *list, uint32_t count)
{
	put(w, W_INDICES, list, (size_t)count * sizeof(*list));
}

static void add_subgraph(struct totals *t, const struct nn_subgraph *g)
{
	uint32_t i;

	t->operands += g->num_operands;
	t->operations += g->num_operations;
	t->indices += (uint64_t)g->num_inputs + g->num_outputs;
	for (i = 0; i < g->num_operations; i++)
		t->indices += (uint64_t)g->operations[i].num_inputs + g->operations[i].num_outputs;
	for (i = 0; i < g->num_operands; i++) {
		if (g->operands[i].extra.kind == NN_EXTRA_CHANNEL_QUANT)
			t->scales += g->operands[i].extra.count;
		else
			t->bytes += g->operands[i].extra.count;
	}
}

/*
 * Makes the header of a serialised model; returns false if a total does not fit in a field of the
 * header.
 */
static bool make_header(const struct nn_model *model, struct wire_header *h,
			uint64_t start[W_END + 1])
{
	struct totals t = { 0 };
	uint32_t i;

	for (i = 0; i < model->num_subgraphs; i++)
		add_subgraph(&t, &model->subgraphs[i]);
	for (i = 0; i < model->num_extensions; i++)
		t.bytes += strlen(model->extensions[i].name);

	*h = (struct wire_header){
		.magic = WIRE_MAGIC,
		.version = WIRE_VERSION,
		.values_size = model->values_size,
		.flags = model->relaxed ? WIRE_RELAXED : 0,
		.num_subgraphs = model->num_subgraphs,
		.num_operands = t.operands,
		.num_operations = t.operations,
		.num_extensions = model->num_extensions,
		.num_pools = model->num_pools,
		.num_indices = t.indices,
		.num_scales = t.scales,
		.num_bytes = t.bytes,
	};
	if ((t.operands | t.operations | t.indices | t.scales | t.bytes) > UINT32_MAX ||
	    !wire_layout(h, start) || start[W_END] > SIZE_MAX)
		return false;
	h->size = start[W_END];
	return true;
}

static void put_operand(struct writer *w, const struct nn_operand *o)
{
	struct wire_operand wire = {
		.type = o->type,
		.lifetime = o->lifetime,
		.rank = o->rank,
		.scale = o->scale,
		.zero_point = o->zero_point,
		.consumers = o->consumers,
		.pool = o->location.pool,
		.length = o->location.length,
		.offset = o->location.offset,
		.extra_kind = o->extra.kind,
		.channel_dim = o->extra.channel_dim,
		.extra_count = o->extra.count,
	};

	memcpy(wire.dims, o->dims, sizeof(wire.dims));
	put(w, W_OPERANDS, &wire, sizeof(wire));
	if (o->extra.kind == NN_EXTRA_CHANNEL_QUANT)
		put(w, W_SCALES, o->extra.scales, o->extra.count * sizeof(float));
	else
		put(w, W_BYTES, o->extra.bytes, o->extra.count);
}

static void put_subgraph(struct writer *w, const struct nn_subgraph *g)
{
	struct wire_subgraph wire = {
		.num_operands = g->num_operands,
		.num_operations = g->num_operations,
		.num_inputs = g->num_inputs,
		.num_outputs = g->num_outputs,
	};
	uint32_t i;

	put(w, W_SUBGRAPHS, &wire, sizeof(wire));
	put_indices(w, g->inputs, g->num_inputs);
	put_indices(w, g->outputs, g->num_outputs);
	for (i = 0; i < g->num_operands; i++)
		put_operand(w, &g->operands[i]);
	for (i = 0; i < g->num_operations; i++) {
		const struct nn_operation *op = &g->operations[i];
		struct wire_operation wire_op = {
			.type = op->type,
			.num_inputs = op->num_inputs,
			.num_outputs = op->num_outputs,
		};

		put(w, W_OPERATIONS, &wire_op, sizeof(wire_op));
		put_indices(w, op->inputs, op->num_inputs);
		put_indices(w, op->outputs, op->num_outputs);
	}
}

enum nn_status nn_model_encode(const struct nn_model *model, void **wire, size_t *size,
			       struct nn_error *err)
{
	uint64_t start[W_END + 1];
	struct wire_header h;
	struct writer w;
	uint32_t i;

	*wire = NULL;
	*size = 0;
	if (!make_header(model, &h, start))
		return nn_fail(err, NN_INVALID_ARGUMENT, "the model is too large to be sent");
	*wire = malloc(h.size);
	if (!*wire)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory to send the model");
	*size = h.size;

	for (i = 0; i < W_END; i++)
		w.next[i] = (uint8_t *)*wire + start[i];
	memcpy(*wire, &h, sizeof(h));
	for (i = 0; i < model->num_subgraphs; i++)
		put_subgraph(&w, &model->subgraphs[i]);
	for (i = 0; i < model->num_extensions; i++) {
		const struct nn_extension_prefix *e = &model->extensions[i];
		struct wire_extension wire_e = { e->prefix, strlen(e->name) };

		put(&w, W_EXTENSIONS, &wire_e, sizeof(wire_e));
		put(&w, W_BYTES, e->name, wire_e.name_length);
	}
	for (i = 0; i < model->num_pools; i++)
		put(&w, W_POOLS, &model->pools[i].size, sizeof(uint64_t));
	put(&w, W_VALUES, model->values, model->values_size);
	return NN_OK;
}
