/* SPDX-License-Identifier: MIT */
/*
 * A model of the NNAPI that is being put together: operands and operations are recorded, may be
 * taken back to a mark, and become an ANeuralNetworksModel as a whole or, for asking a device
 * whether it can, in part. Once memory fails all calls do, and builder_failed() says so.
 */
#ifndef NN_LOWER_BUILDER_H
#define NN_LOWER_BUILDER_H

#include <android/NeuralNetworks.h>
#include <stdarg.h>

enum { MAX_DIMS = 4 };

#define NO_OPERAND	UINT32_MAX

struct operand {
	int32_t type;			/* OperandCode */
	uint32_t rank;
	uint32_t dims[MAX_DIMS];
	float scale;
	int32_t zero;
	const float *scales;		/* per channel of dimension `channel`; of the arena */
	uint32_t channel;
	const void *data;		/* of a constant; of the arena or the graph */
	size_t size;
	bool omitted;			/* a constant without a value */
	uint32_t view_of;		/* the operand, + 1, whose elements these are; 0: none */
};

struct operation {
	int32_t type;			/* OperationCode */
	uint32_t node;			/* the node of the graph that it comes from */
	uint32_t in_count, out_count;
	uint32_t first;			/* in refs: inputs, then outputs */
};

struct builder {
	struct operand *operands;
	struct operation *operations;
	uint32_t *refs;
	uint32_t operand_count, operation_count, ref_count;
	uint32_t operand_room, operation_room, ref_room;
	uint32_t node;			/* that operations are recorded for */
	struct chunk *arena;
	bool failed;
};

struct builder_mark {
	uint32_t operands, operations, refs;
};

void builder_free(struct builder *b);
struct builder_mark builder_mark(const struct builder *b);
void builder_rewind(struct builder *b, struct builder_mark mark);

/* Memory that is freed with the builder, zeroed; NULL fails the builder. */
void *builder_alloc(struct builder *b, size_t size);

/* Returns the operand's number. */
uint32_t builder_operand(struct builder *b, const struct operand *operand);

/* Records an operation; numbers of operands are copied. */
void builder_operation(struct builder *b, int32_t type, uint32_t in_count, const uint32_t *in,
		       uint32_t out_count, const uint32_t *out);

/* Bytes of an operand of known shape. */
size_t builder_size(const struct operand *operand);

/* Drops operations whose outputs nobody uses; `keep` are operands that are wanted. */
void builder_prune(struct builder *b, uint32_t count, const uint32_t *keep);

/* Memory of zeros that stands for large constants. */
struct probe {
	ANeuralNetworksMemory *memory;
	size_t size;
};

/*
 * Makes a model of the operations [from, to) with these inputs and outputs. With `probe`, large constants
 * that fit it are bytes of that memory instead, and inputs and outputs are what comes in and goes out.
 * Returns a ResultCode.
 */
int builder_model(const struct builder *b, bool relaxed, uint32_t in_count, const uint32_t *in,
		  uint32_t out_count, const uint32_t *out, ANeuralNetworksModel **model);
int builder_probe(const struct builder *b, uint32_t from, uint32_t to,
		  const struct probe *probe, ANeuralNetworksModel **model);

#endif
