/* SPDX-License-Identifier: MIT */
/*
 * Builds small models for tests. A model's operands, operations and subgraphs lie in arrays of
 * fixed size, in the order in which a test adds the elements. A test may write invalid values into
 * any field of a finished model.
 */
#ifndef NN_TESTS_MODEL_BUILDER_H
#define NN_TESTS_MODEL_BUILDER_H

#include <nnaccel/engine_model.h>

#define MB_SUBGRAPHS 6
#define MB_OPERANDS 80
#define MB_OPERATIONS 24
#define MB_INDICES 208
#define MB_VALUES 1024
#define MB_POOLS 2

struct model_builder {
	struct nn_model model;
	uint32_t at;		/* the subgraph under construction */
	uint32_t num_indices;
	struct nn_subgraph subgraphs[MB_SUBGRAPHS];
	struct nn_operand operands[MB_SUBGRAPHS][MB_OPERANDS];
	struct nn_operation operations[MB_SUBGRAPHS][MB_OPERATIONS];
	uint32_t indices[MB_INDICES];
	uint32_t inputs[MB_SUBGRAPHS][MB_OPERANDS];
	uint32_t outputs[MB_SUBGRAPHS][MB_OPERANDS];
	struct nn_pool pools[MB_POOLS];
	struct nn_extension_prefix extensions[3];
	_Alignas(8) uint8_t values[MB_VALUES];
};

#define MB_DIMS(...) (sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)), \
	((uint32_t[]){ __VA_ARGS__ })
#define MB_LIST(...) MB_DIMS(__VA_ARGS__)
#define MB_NONE 0, NULL

/* Makes an empty model; operands and operations that are added next belong to the main subgraph. */
void mb_init(struct model_builder *b);

/* Begins a new subgraph: operands and operations that are added next belong to this subgraph. */
void mb_subgraph(struct model_builder *b);

/*
 * Adds an operand and returns its index. The order in which a test adds inputs and outputs is their
 * order in the model.
 */
uint32_t mb_operand(struct model_builder *b, int32_t type, enum nn_lifetime lifetime,
		    uint32_t rank, const uint32_t *dims);

/* Adds a constant whose value is copied from `data`. */
uint32_t mb_constant(struct model_builder *b, int32_t type, const void *data, uint32_t size,
		     uint32_t rank, const uint32_t *dims);
uint32_t mb_int32(struct model_builder *b, int32_t value);
uint32_t mb_float32(struct model_builder *b, float value);

/* Adds a constant that lies in a pool. */
uint32_t mb_reference(struct model_builder *b, int32_t type, uint32_t pool, uint64_t offset,
		      uint32_t size, uint32_t rank, const uint32_t *dims);

uint32_t mb_subgraph_operand(struct model_builder *b, uint32_t index);

/* Adds an operation, and counts the operation as a consumer of each input. */
void mb_operation(struct model_builder *b, int32_t type, uint32_t num_inputs,
		  const uint32_t *inputs, uint32_t num_outputs, const uint32_t *outputs);

#endif /* NN_TESTS_MODEL_BUILDER_H */
