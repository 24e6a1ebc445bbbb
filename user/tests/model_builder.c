/* SPDX-License-Identifier: MIT */
/*
 * Builds small models for tests.
 */
#include <assert.h>
#include <string.h>

#include "model_builder.h"

static void begin(struct model_builder *b)
{
	b->at = b->model.num_subgraphs++;
	assert(b->model.num_subgraphs <= MB_SUBGRAPHS);
	b->subgraphs[b->at] = (struct nn_subgraph){
		.operands = b->operands[b->at],
		.operations = b->operations[b->at],
		.inputs = b->inputs[b->at],
		.outputs = b->outputs[b->at],
	};
}

void mb_init(struct model_builder *b)
{
	memset(b, 0, sizeof(*b));
	b->model.size = sizeof(b->model);
	b->model.subgraphs = b->subgraphs;
	b->model.pools = b->pools;
	b->model.extensions = b->extensions;
	b->model.values = b->values;
	begin(b);
}

void mb_subgraph(struct model_builder *b)
{
	begin(b);
}

uint32_t mb_operand(struct model_builder *b, int32_t type, enum nn_lifetime lifetime,
		    uint32_t rank, const uint32_t *dims)
{
	struct nn_subgraph *g = &b->subgraphs[b->at];
	uint32_t index = g->num_operands++;
	struct nn_operand *o = &b->operands[b->at][index];

	assert(index < MB_OPERANDS && rank <= NN_MAX_RANK);
	o->type = type;
	o->lifetime = lifetime;
	o->rank = rank;
	if (rank)
		memcpy(o->dims, dims, rank * sizeof(*dims));
	if (lifetime == NN_SUBGRAPH_INPUT)
		b->inputs[b->at][g->num_inputs++] = index;
	if (lifetime == NN_SUBGRAPH_OUTPUT)
		b->outputs[b->at][g->num_outputs++] = index;
	return index;
}

uint32_t mb_constant(struct model_builder *b, int32_t type, const void *data, uint32_t size,
		     uint32_t rank, const uint32_t *dims)
{
	uint32_t index = mb_operand(b, type, NN_CONSTANT_COPY, rank, dims);
	struct nn_operand *o = &b->operands[b->at][index];
	uint64_t offset = (b->model.values_size + 3) & ~UINT64_C(3);

	assert(offset + size <= MB_VALUES);
	memcpy(b->values + offset, data, size);
	o->location.offset = offset;
	o->location.length = size;
	b->model.values_size = offset + size;
	return index;
}

uint32_t mb_int32(struct model_builder *b, int32_t value)
{
	return mb_constant(b, NN_INT32, &value, sizeof(value), MB_NONE);
}

uint32_t mb_float32(struct model_builder *b, float value)
{
	return mb_constant(b, NN_FLOAT32, &value, sizeof(value), MB_NONE);
}

uint32_t mb_reference(struct model_builder *b, int32_t type, uint32_t pool, uint64_t offset,
		      uint32_t size, uint32_t rank, const uint32_t *dims)
{
	uint32_t index = mb_operand(b, type, NN_CONSTANT_REFERENCE, rank, dims);

	b->operands[b->at][index].location = (struct nn_location){
		.pool = pool,
		.length = size,
		.offset = offset,
	};
	return index;
}

uint32_t mb_subgraph_operand(struct model_builder *b, uint32_t index)
{
	uint32_t operand = mb_operand(b, NN_SUBGRAPH_TYPE, NN_SUBGRAPH, MB_NONE);

	b->operands[b->at][operand].location.offset = index - 1;
	return operand;
}

static const uint32_t *keep(struct model_builder *b, const uint32_t *list, uint32_t count)
{
	uint32_t *to = b->indices + b->num_indices;

	b->num_indices += count + 1;
	assert(b->num_indices <= MB_INDICES);
	if (count)
		memcpy(to, list, count * sizeof(*list));
	/*
	 * An invalid index follows each list of operand indices, so that tests detect reading
	 * beyond the list.
	 */
	to[count] = UINT32_MAX;
	return to;
}

void mb_operation(struct model_builder *b, int32_t type, uint32_t num_inputs,
		  const uint32_t *inputs, uint32_t num_outputs, const uint32_t *outputs)
{
	struct nn_subgraph *g = &b->subgraphs[b->at];
	uint32_t index = g->num_operations++, i;

	assert(index < MB_OPERATIONS);
	b->operations[b->at][index] = (struct nn_operation){
		.type = type,
		.num_inputs = num_inputs,
		.num_outputs = num_outputs,
		.inputs = keep(b, inputs, num_inputs),
		.outputs = keep(b, outputs, num_outputs),
	};
	for (i = 0; i < num_inputs; i++)
		b->operands[b->at][inputs[i]].consumers++;
}
