// SPDX-License-Identifier: MIT
/* Packs a model into one block: the serialised model with all its constants. */
#include <stdlib.h>
#include <string.h>

#include <nnaccel/engine.h>

#include "base/round.h"

/* Alignment of constants in bytes, as in models that clients send. */
#define ALIGNMENT 8

/*
 * A copy of a model's structures, in which the locations of constants are offsets in the packed
 * block.
 */
struct packing {
	struct nn_model model;
	struct nn_subgraph *subgraphs;
	struct nn_operand **operands;	/* of each subgraph */
	uint8_t *values;
};

/* Returns the total size of a model's constants in bytes, including constants in pools. */
static uint64_t values_size(const struct nn_model *model)
{
	uint64_t size = round_up(model->values_size, ALIGNMENT);

	for (uint32_t k = 0; k < model->num_subgraphs; k++) {
		const struct nn_subgraph *s = &model->subgraphs[k];

		for (uint32_t i = 0; i < s->num_operands; i++)
			if (s->operands[i].lifetime == NN_CONSTANT_REFERENCE)
				size += round_up(s->operands[i].location.length, ALIGNMENT);
	}
	return size;
}

static bool copy_operands(struct packing *p, const struct nn_model *model, uint32_t k,
			  uint64_t *used)
{
	const struct nn_subgraph *s = &model->subgraphs[k];
	struct nn_operand *copy = calloc(s->num_operands + 1, sizeof(*copy));

	p->operands[k] = copy;
	if (!copy)
		return false;
	memcpy(copy, s->operands, s->num_operands * sizeof(*copy));
	p->subgraphs[k].operands = copy;
	for (uint32_t i = 0; i < s->num_operands; i++) {
		uint32_t length = copy[i].location.length;

		if (copy[i].lifetime != NN_CONSTANT_REFERENCE)
			continue;
		memcpy(p->values + *used, nn_operand_value(model, &s->operands[i]), length);
		copy[i].lifetime = NN_CONSTANT_COPY;
		copy[i].location = (struct nn_location){ .offset = *used, .length = length };
		*used += round_up(length, ALIGNMENT);
	}
	return true;
}

static bool fill(struct packing *p, const struct nn_model *model)
{
	uint64_t size = values_size(model);
	uint64_t used = round_up(model->values_size, ALIGNMENT);

	p->subgraphs = calloc(model->num_subgraphs, sizeof(*p->subgraphs));
	p->operands = calloc(model->num_subgraphs, sizeof(struct nn_operand *));
	p->values = calloc(size ? size : 1, 1);
	if (!p->subgraphs || !p->operands || !p->values)
		return false;
	memcpy(p->subgraphs, model->subgraphs, model->num_subgraphs * sizeof(*p->subgraphs));
	memcpy(p->values, model->values, model->values_size);
	for (uint32_t k = 0; k < model->num_subgraphs; k++)
		if (!copy_operands(p, model, k, &used))
			return false;
	p->model = *model;
	p->model.subgraphs = p->subgraphs;
	p->model.num_pools = 0;
	p->model.pools = NULL;
	p->model.values = p->values;
	p->model.values_size = size;
	return true;
}

enum nn_status nna_engine_pack(const struct nn_model *model, void **block, size_t *size,
			       struct nn_error *err)
{
	struct packing p = { .values = NULL };
	enum nn_status status;

	if (fill(&p, model))
		status = nn_model_encode(&p.model, block, size, err);
	else
		status = nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t k = 0; p.operands && k < model->num_subgraphs; k++)
		free(p.operands[k]);
	free(p.operands);
	free(p.subgraphs);
	free(p.values);
	return status;
}

enum nn_status nna_engine_unpack(const void *block, size_t size, struct nn_model **model,
				 struct nn_error *err)
{
	return nn_model_decode(block, size, NULL, 0, model, err);
}
