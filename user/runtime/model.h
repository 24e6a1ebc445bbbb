/* SPDX-License-Identifier: MIT */
/*
 * Models: a builder that adds operands and operations one by one, and the flat graph that the
 * builder makes when the model is finished.
 */
#ifndef NN_RUNTIME_MODEL_H
#define NN_RUNTIME_MODEL_H

#include <stdatomic.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/engine_model.h>

#include "runtime/arena.h"
#include "runtime/memory.h"

/* The input of a compilation by a device: a model, and the memory of each of its pools. */
struct graph {
	struct nn_model model;	/* model to be compiled; the `base` of its pools is not set */
	ANeuralNetworksMemory *const *memories;	/* [model.num_pools] */
};

struct ANeuralNetworksModel {
	/* Number of references: the application's, and one for each object made from the model. */
	atomic_uint references;
	bool finished;
	bool invalid;	/* true: finishing failed, so the model can only be freed */
	bool relaxed;

	uint32_t num_operands;
	uint32_t num_operations;
	uint32_t num_inputs;
	uint32_t num_outputs;
	uint32_t num_memories;
	uint32_t num_children;
	size_t values_size;

	struct nn_operand *operands;
	/* for each operand: its large constant, which finishing the model copies, or NULL */
	const void **large_values;
	/* operations of the model, in the order of their addition */
	struct nn_operation *operations;
	const uint32_t *inputs;
	const uint32_t *outputs;
	uint8_t *values;			/* small constants */
	ANeuralNetworksMemory **memories;	/* by location.pool */
	/* Referenced models, indexed by location.offset of NN_SUBGRAPH operands. */
	const ANeuralNetworksModel **children;
	const struct nn_subgraph **child_graphs;
	struct arena arena;			/* memory for index lists, scales and `graph` */

	/* Finishing the model sets `large_memory`, `graph` and `order`. */
	ANeuralNetworksMemory *large_memory;	/* memory with copies of large_values, or NULL */
	struct graph graph;
	uint32_t *order;	/* operation i of `graph` is operations[order[i]] */
};

static inline const struct nn_subgraph *model_main(const ANeuralNetworksModel *model)
{
	return &model->graph.model.subgraphs[0];
}

static inline const struct nn_operand *model_input(const ANeuralNetworksModel *model,
						   uint32_t index)
{
	return &model_main(model)->operands[model_main(model)->inputs[index]];
}

static inline const struct nn_operand *model_output(const ANeuralNetworksModel *model,
						    uint32_t index)
{
	return &model_main(model)->operands[model_main(model)->outputs[index]];
}

/*
 * Takes a reference to a model. Each compilation holds a reference, so the application may free the
 * model before it frees the compilation. The parameter of model_get() is const, because a new
 * reference changes nothing in the model that callers can read.
 */
const ANeuralNetworksModel *model_get(const ANeuralNetworksModel *model);
void model_put(const ANeuralNetworksModel *model);

/* Returns BAD_STATE unless a model is finished and valid. */
int model_check_finished(const ANeuralNetworksModel *model, struct nn_error *err);

#endif /* NN_RUNTIME_MODEL_H */
