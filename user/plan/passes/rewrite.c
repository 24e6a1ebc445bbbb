/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "ops/op.h"
#include "plan/passes/rewrite.h"

/*
 * Adds the aligned size of an array to *at, and returns the array's address in the memory block, or
 * NULL if `base` is NULL.
 */
static void *take(char *base, size_t *at, size_t count, size_t size)
{
	size_t offset = *at;

	*at += round_up(count * size, 8);
	return base ? base + offset : NULL;
}

/* Divides a block of memory into the arrays of a rewritten model; returns the size of the block. */
static size_t divide(struct rewrite *w, const struct nn_model *from,
		     const struct rewrite_room *room, char *base)
{
	const struct nn_subgraph *s = &from->subgraphs[0];
	size_t at = round_up(room->pass, 8), indices = room->indices;

	for (uint32_t i = 0; i < s->num_operations; i++)
		indices += (size_t)s->operations[i].num_inputs + s->operations[i].num_outputs;
	w->operands = take(base, &at, s->num_operands + room->operands, sizeof(*w->operands));
	w->operations = take(base, &at, s->num_operations + room->operations,
			     sizeof(*w->operations));
	w->indices = take(base, &at, indices, sizeof(*w->indices));
	w->bytes = take(base, &at, from->values_size + 8 + room->bytes, 1);
	w->is_there = take(base, &at, s->num_operands, sizeof(*w->is_there));
	w->facts = take(base, &at, s->num_operands, room->fact);
	return at;
}

void *rewrite_create(const struct nn_model *from, const struct rewrite_room *room)
{
	const struct nn_subgraph *s = &from->subgraphs[0];
	struct rewrite sizes, *w = calloc(1, divide(&sizes, from, room, NULL));

	if (!w)
		return NULL;
	divide(w, from, room, (char *)w);
	w->model = *from;
	w->model.subgraphs = &w->subgraph;
	w->model.values = w->bytes;
	w->model.values_size = round_up(from->values_size, 8);
	if (from->values_size)
		memcpy(w->bytes, from->values, from->values_size);
	w->subgraph = *s;
	w->subgraph.operands = w->operands;
	w->subgraph.operations = w->operations;
	w->subgraph.num_operations = 0;
	memcpy(w->operands, s->operands, s->num_operands * sizeof(*w->operands));
	w->first_operands = s->num_operands;
	memset(w->is_there, true, s->num_operands * sizeof(*w->is_there));
	return w;
}

uint32_t *rewrite_add(struct rewrite *w, int32_t type, uint32_t num_inputs, uint32_t num_outputs,
		      const uint32_t *inputs, const uint32_t *outputs)
{
	struct nn_operation *o = &w->operations[w->subgraph.num_operations++];
	uint32_t *list = w->indices;

	w->indices += num_inputs + num_outputs;
	memcpy(list, inputs, num_inputs * sizeof(*list));
	memcpy(list + num_inputs, outputs, num_outputs * sizeof(*list));
	*o = (struct nn_operation){
		.type = type,
		.num_inputs = num_inputs,
		.num_outputs = num_outputs,
		.inputs = list,
		.outputs = list + num_inputs,
	};
	return list;
}

uint32_t rewrite_operand(struct rewrite *w, uint32_t like, int32_t type, uint32_t rank,
			 const uint32_t *dims)
{
	const uint32_t index = w->subgraph.num_operands++;

	w->operands[index] = (struct nn_operand){
		.type = type,
		.rank = rank,
		.scale = w->operands[like].scale,
		.zero_point = w->operands[like].zero_point,
	};
	memcpy(w->operands[index].dims, dims, rank * sizeof(*dims));
	return index;
}

void rewrite_cast(struct rewrite *w, uint32_t from, uint32_t to)
{
	/* Unlike other code of passes, this code names an operation, which the pass itself adds. */
	rewrite_add(w, NN_OP_CAST, 1, 1, &from, &to);
}

struct nn_model *rewrite_end(struct rewrite *w)
{
	struct nn_error err = { "" };

	for (uint32_t i = 0; i < w->subgraph.num_operands; i++)
		w->operands[i].consumers = 0;
	for (uint32_t i = 0; i < w->subgraph.num_operations; i++)
		for (uint32_t k = 0; k < w->operations[i].num_inputs; k++)
			w->operands[w->operations[i].inputs[k]].consumers++;
	for (uint32_t i = 0; i < w->first_operands; i++)
		if (!w->is_there[i])
			w->operands[i].lifetime = NN_NO_VALUE;
	if (!nn_model_check(&w->model, &err) && !nn_ops_check_model(&w->model, NULL, &err))
		return &w->model;
	nn_model_free(&w->model);
	return NULL;
}
