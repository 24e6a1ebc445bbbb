/* SPDX-License-Identifier: MIT */
/*
 * A model of the NNAPI that is being put together: operands and operations are recorded, may be
 * taken back to a mark, and become an ANeuralNetworksModel as a whole or, for asking a device
 * whether it can, in part. Once memory fails all calls do, and `failed` says so.
 */
#ifndef NN_LOWER_BUILDER_H
#define NN_LOWER_BUILDER_H

#include <android/NeuralNetworks.h>
#include <stdarg.h>

#include "clients/lower/constants.h"
#include "runtime/sha256.h"

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
	bool in_file;			/* the data may be in a memory of struct constants */
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

/* Copies of `count` matrices [rows, columns] as [columns, rows]; NULL if `data` is. */
void *turned(struct builder *b, const void *data, size_t size, size_t count, size_t rows,
	     size_t columns);

/* Returns the operand's number. */
uint32_t builder_operand(struct builder *b, const struct operand *operand);

/* Records an operation; numbers of operands are copied. */
void builder_operation(struct builder *b, int32_t type, uint32_t in_count, const uint32_t *in,
		       uint32_t out_count, const uint32_t *out);

/* Bytes of an operand of known shape. */
size_t builder_size(const struct operand *operand);

/* Whether one of the operations from `from` on writes the operand. */
bool builder_writes(const struct builder *b, uint32_t from, uint32_t operand);

/* Drops operations whose outputs nobody uses; `keep` are operands that are wanted. */
void builder_prune(struct builder *b, uint32_t count, const uint32_t *keep);

/* Whether operations read each operand, for free(); NULL: there is no memory. */
bool *builder_used(const struct builder *b);

/* Adds all that the model is to a hash; constants of files only if `all`. */
void builder_hash(const struct builder *b, struct sha256 *hash, bool all);

/*
 * Makes a model of all operations with these inputs and outputs. Constants of files are parts of
 * the memory of `constants`, which may be NULL. Returns a ResultCode.
 */
int builder_model(const struct builder *b, struct constants *constants, bool relaxed,
		  uint32_t in_count, const uint32_t *in, uint32_t out_count, const uint32_t *out,
		  ANeuralNetworksModel **model);

/*
 * Asks the devices about the operations [from, to): `supported` is set for each of them. Values do
 * not matter, so `constants` may be placeholders. Returns a ResultCode; *is_model is false if the
 * NNAPI does not take the model.
 */
int builder_ask(const struct builder *b, uint32_t from, uint32_t to, struct constants *constants,
		const ANeuralNetworksDevice *const *devices, uint32_t count, bool *supported,
		bool *is_model);

#endif
