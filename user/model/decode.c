/* SPDX-License-Identifier: MIT */
/*
 * Decodes an untrusted serialised model. The header contains the number of records of each section;
 * the decoder reads the records in order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "extension.h"
#include "wire.h"

/* The records of a section that are not yet read. */
struct section {
	const uint8_t *wire;
	uint32_t left;
};

struct reader {
	struct section sections[W_POOLS];	/* sections that consist of records */
	/*
	 * The sections after W_POOLS are copied as a whole. The members `indices`, `scales` and
	 * `bytes` point to the next unused element of these copies.
	 */
	const uint32_t *indices;
	const float *scales;
	const uint8_t *bytes;
	uint32_t indices_left;
	uint32_t scales_left;
	uint32_t bytes_left;
	/* The next unused elements of arrays in the model's allocation. */
	struct nn_operand *operands;
	struct nn_operation *operations;
	char *names;
	struct nn_error *err;
};

/* The single allocation of a decoded model. */
struct layout {
	size_t subgraphs;
	size_t operands;
	size_t operations;
	size_t extensions;
	size_t pools;
	size_t values;
	size_t indices;
	size_t scales;
	size_t bytes;
	size_t names;
	size_t size;
};

static enum nn_status read_header(const uint8_t *wire, size_t size, struct wire_header *h,
				  uint64_t start[W_END + 1], struct nn_error *err)
{
	if (size < sizeof(*h))
		return nn_fail(err, NN_INVALID_ARGUMENT, "the model's wire form has %zu bytes, "
			       "less than its header", size);
	memcpy(h, wire, sizeof(*h));
	if (h->magic != WIRE_MAGIC || h->version != WIRE_VERSION)
		return nn_fail(err, NN_INVALID_ARGUMENT, "the model does not have the wire "
			       "form of version %d", WIRE_VERSION);
	if (h->flags & ~WIRE_RELAXED || h->reserved)
		return nn_fail(err, NN_INVALID_ARGUMENT, "the model's wire form has unknown flags "
			       "0x%x or reserved 0x%x", h->flags, h->reserved);
	if (!wire_layout(h, start) || start[W_END] != size || h->size != size)
		return nn_fail(err, NN_INVALID_ARGUMENT, "the model's wire form has %zu bytes, "
			       "but its header gives another size", size);
	return NN_OK;
}

static size_t place(size_t *end, uint64_t count, size_t size)
{
	size_t at = *end;

	*end = round_up(at + count * size, 8);
	return at;
}

/*
 * Computes the layout of the model's allocation. No sum overflows, because the serialised model is
 * in memory, and decoding makes a record at most four times as large.
 */
static void lay_out(const struct wire_header *h, struct layout *l)
{
	l->size = 0;
	place(&l->size, 1, sizeof(struct nn_model));
	l->subgraphs = place(&l->size, h->num_subgraphs, sizeof(struct nn_subgraph));
	l->operands = place(&l->size, h->num_operands, sizeof(struct nn_operand));
	l->operations = place(&l->size, h->num_operations, sizeof(struct nn_operation));
	l->extensions = place(&l->size, h->num_extensions, sizeof(struct nn_extension_prefix));
	l->pools = place(&l->size, h->num_pools, sizeof(struct nn_pool));
	l->values = place(&l->size, h->values_size, 1);
	l->indices = place(&l->size, h->num_indices, sizeof(uint32_t));
	l->scales = place(&l->size, h->num_scales, sizeof(float));
	l->bytes = place(&l->size, h->num_bytes, 1);
	/*
	 * Reserve a byte for the terminator of each copied name, because serialised names have no
	 * terminator.
	 */
	l->names = place(&l->size, (uint64_t)h->num_bytes + h->num_extensions, 1);
}

/* Reads the next record of a section; returns false at the end of the section. */
static bool next_record(struct reader *r, enum wire_section section, void *record, size_t size)
{
	struct section *s = &r->sections[section];

	if (!s->left)
		return false;
	memcpy(record, s->wire, size);
	s->wire += size;
	s->left--;
	return true;
}

static bool take_indices(struct reader *r, uint32_t count, const uint32_t **list)
{
	if (count > r->indices_left)
		return false;
	*list = r->indices;
	r->indices += count;
	r->indices_left -= count;
	return true;
}

static bool take_extra(struct reader *r, struct nn_extra *extra)
{
	if (extra->kind == NN_EXTRA_CHANNEL_QUANT) {
		if (extra->count > r->scales_left)
			return false;
		extra->scales = r->scales;
		r->scales += extra->count;
		r->scales_left -= extra->count;
	} else {
		if (extra->count > r->bytes_left)
			return false;
		extra->bytes = r->bytes;
		r->bytes += extra->count;
		r->bytes_left -= extra->count;
	}
	return true;
}

static enum nn_status read_operand(struct reader *r, uint32_t subgraph, uint32_t index)
{
	struct wire_operand wire;
	struct nn_operand *o;

	if (!next_record(r, W_OPERANDS, &wire, sizeof(wire)))
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "subgraph %u, operand %u: missing in "
			       "the wire form", subgraph, index);
	if (wire.reserved)
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "subgraph %u, operand %u: reserved is "
			       "0x%x, must be 0", subgraph, index, wire.reserved);
	o = r->operands++;
	o->type = wire.type;
	o->lifetime = wire.lifetime;
	o->rank = wire.rank;
	memcpy(o->dims, wire.dims, sizeof(o->dims));
	o->scale = wire.scale;
	o->zero_point = wire.zero_point;
	o->consumers = wire.consumers;
	o->location.pool = wire.pool;
	o->location.length = wire.length;
	o->location.offset = wire.offset;
	o->extra.kind = wire.extra_kind;
	o->extra.channel_dim = wire.channel_dim;
	o->extra.count = wire.extra_count;
	if (!take_extra(r, &o->extra))
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "subgraph %u, operand %u: %u extra "
			       "parameters are missing in the wire form", subgraph, index,
			       o->extra.count);
	return NN_OK;
}

static enum nn_status read_operation(struct reader *r, uint32_t subgraph, uint32_t index)
{
	struct wire_operation wire;
	struct nn_operation *op;

	if (!next_record(r, W_OPERATIONS, &wire, sizeof(wire)))
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "subgraph %u, operation %u: missing "
			       "in the wire form", subgraph, index);
	op = r->operations++;
	op->type = wire.type;
	op->num_inputs = wire.num_inputs;
	op->num_outputs = wire.num_outputs;
	if (!take_indices(r, op->num_inputs, &op->inputs) ||
	    !take_indices(r, op->num_outputs, &op->outputs))
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "subgraph %u, operation %u (code %d): "
			       "indices of %u inputs and %u outputs are missing in the wire form",
			       subgraph, index, op->type, op->num_inputs, op->num_outputs);
	return NN_OK;
}

static enum nn_status read_subgraph(struct reader *r, struct nn_subgraph *g, uint32_t index)
{
	enum nn_status status = NN_OK;
	struct wire_subgraph wire;
	uint32_t i;

	/*
	 * Reading the record cannot fail, because the same field of the header counts subgraphs and
	 * their records.
	 */
	next_record(r, W_SUBGRAPHS, &wire, sizeof(wire));
	g->num_operands = wire.num_operands;
	g->num_operations = wire.num_operations;
	g->num_inputs = wire.num_inputs;
	g->num_outputs = wire.num_outputs;
	g->operands = r->operands;
	g->operations = r->operations;
	if (!take_indices(r, g->num_inputs, &g->inputs) ||
	    !take_indices(r, g->num_outputs, &g->outputs))
		return nn_fail(r->err, NN_INVALID_ARGUMENT,
			       "subgraph %u: indices of %u inputs and %u "
			       "outputs are missing in the wire form", index, g->num_inputs,
			       g->num_outputs);
	for (i = 0; i < g->num_operands && !status; i++)
		status = read_operand(r, index, i);
	for (i = 0; i < g->num_operations && !status; i++)
		status = read_operation(r, index, i);
	return status;
}

static enum nn_status read_extension(struct reader *r, struct nn_extension_prefix *e,
				     uint32_t index)
{
	struct wire_extension wire;

	next_record(r, W_EXTENSIONS, &wire, sizeof(wire));
	if (wire.name_length > r->bytes_left || memchr(r->bytes, '\0', wire.name_length))
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "extension %u: its name of %u bytes is "
			       "cut off", index, wire.name_length);
	if (wire.prefix > UINT16_MAX)
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "extension %u: prefix %u exceeds 65535",
			       index, wire.prefix);
	e->prefix = wire.prefix;
	e->name = memcpy(r->names, r->bytes, wire.name_length);
	r->names += wire.name_length + 1;
	r->bytes += wire.name_length;
	r->bytes_left -= wire.name_length;
	return NN_OK;
}

/*
 * Rejects records and bytes that no subgraph uses, so that each model has exactly one
 * serialisation.
 */
static enum nn_status check_all_used(const struct reader *r)
{
	if (r->sections[W_OPERANDS].left || r->sections[W_OPERATIONS].left || r->indices_left ||
	    r->scales_left || r->bytes_left)
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "the model's wire form ends with %u "
			       "operands, %u operations, %u indices, %u scales and %u bytes that "
			       "nothing uses", r->sections[W_OPERANDS].left,
			       r->sections[W_OPERATIONS].left, r->indices_left, r->scales_left,
			       r->bytes_left);
	return NN_OK;
}

static enum nn_status read_pools(const uint8_t *wire, const struct wire_header *h,
				 const struct nn_pool *pools, uint32_t num_pools,
				 struct nn_pool *to, struct nn_error *err)
{
	uint64_t promised;
	uint32_t i;

	if (h->num_pools != num_pools)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%u pools come with a model that has %u",
			       num_pools, h->num_pools);
	for (i = 0; i < num_pools; i++) {
		memcpy(&promised, wire + i * sizeof(promised), sizeof(promised));
		if (promised != pools[i].size)
			return nn_fail(err, NN_INVALID_ARGUMENT, "pool %u has %" PRIu64 " bytes, "
				       "must have %" PRIu64 " as in the model", i, pools[i].size,
				       promised);
		to[i] = pools[i];
	}
	return NN_OK;
}

static enum nn_status read_all(struct reader *r, const struct wire_header *h,
			       struct nn_subgraph *subgraphs,
			       struct nn_extension_prefix *extensions)
{
	enum nn_status status = NN_OK;
	uint32_t i;

	for (i = 0; i < h->num_subgraphs && !status; i++)
		status = read_subgraph(r, &subgraphs[i], i);
	for (i = 0; i < h->num_extensions && !status; i++)
		status = read_extension(r, &extensions[i], i);
	return status ? status : check_all_used(r);
}

/* Fills a model's zeroed allocation at `base` with the decoded model. */
static enum nn_status fill(uint8_t *base, const struct layout *l, const uint8_t *wire,
			   const struct wire_header *h, const uint64_t start[W_END + 1],
			   const struct nn_pool *pools, uint32_t num_pools, struct nn_error *err)
{
	struct reader r = {
		.sections = {
			[W_SUBGRAPHS] = { wire + start[W_SUBGRAPHS], h->num_subgraphs },
			[W_OPERANDS] = { wire + start[W_OPERANDS], h->num_operands },
			[W_OPERATIONS] = { wire + start[W_OPERATIONS], h->num_operations },
			[W_EXTENSIONS] = { wire + start[W_EXTENSIONS], h->num_extensions },
		},
		.indices = (uint32_t *)(base + l->indices),
		.scales = (float *)(base + l->scales),
		.bytes = base + l->bytes,
		.indices_left = h->num_indices,
		.scales_left = h->num_scales,
		.bytes_left = h->num_bytes,
		.operands = (struct nn_operand *)(base + l->operands),
		.operations = (struct nn_operation *)(base + l->operations),
		.names = (char *)(base + l->names),
		.err = err,
	};
	struct nn_model model = {
		.size = sizeof(model),
		.num_subgraphs = h->num_subgraphs,
		.num_pools = h->num_pools,
		.num_extensions = h->num_extensions,
		.relaxed = h->flags & WIRE_RELAXED,
		.subgraphs = (struct nn_subgraph *)(base + l->subgraphs),
		.pools = (struct nn_pool *)(base + l->pools),
		.extensions = (struct nn_extension_prefix *)(base + l->extensions),
		.values = base + l->values,
		.values_size = h->values_size,
	};
	enum nn_status status;

	memcpy(base, &model, sizeof(model));
	memcpy(base + l->indices, wire + start[W_INDICES], start[W_SCALES] - start[W_INDICES]);
	memcpy(base + l->scales, wire + start[W_SCALES], start[W_BYTES] - start[W_SCALES]);
	memcpy(base + l->bytes, wire + start[W_BYTES], h->num_bytes);
	memcpy(base + l->values, wire + start[W_VALUES], h->values_size);
	status = read_pools(wire + start[W_POOLS], h, pools, num_pools,
			    (struct nn_pool *)(base + l->pools), err);
	if (status)
		return status;
	return read_all(&r, h, (struct nn_subgraph *)(base + l->subgraphs),
			(struct nn_extension_prefix *)(base + l->extensions));
}

enum nn_status nn_model_decode(const void *wire, size_t size, const struct nn_pool *pools,
			       uint32_t num_pools, struct nn_model **model, struct nn_error *err)
{
	uint64_t start[W_END + 1];
	struct wire_header h;
	enum nn_status status;
	struct layout l;
	void *base;

	*model = NULL;
	status = read_header(wire, size, &h, start, err);
	if (status)
		return status;
	lay_out(&h, &l);
	base = calloc(1, l.size);
	if (!base)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for a model of %zu bytes", size);

	status = fill(base, &l, wire, &h, start, pools, num_pools, err);
	if (!status)
		status = nn_model_resolve_extensions(base, err);
	if (!status)
		status = nn_model_check(base, err);
	if (status) {
		free(base);
		return status;
	}
	*model = base;
	return NN_OK;
}

void nn_model_free(struct nn_model *model)
{
	free(model);
}
