/* SPDX-License-Identifier: MIT */
/*
 * A model of the NNAPI under construction. Operands and operations are recorded, and can be undone
 * to a mark. They become an ANeuralNetworksModel as a whole or, to ask a device about them, in
 * part. If memory runs out, all later calls fail, and `failed` is set.
 */
#ifndef NN_LOWER_BUILDER_H
#define NN_LOWER_BUILDER_H

#include <android/NeuralNetworks.h>

#include "clients/device.h"
#include "clients/lower/constants.h"

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
	const void *data;		/* data of a constant; memory of the arena or the graph */
	size_t size;
	bool in_file;			/* the data may be in a memory of struct constants */
	bool omitted;			/* a constant without a value */
	/* Number + 1 of the operand that has the same elements; 0 for no view. */
	uint32_t view_of;
};

struct operation {
	int32_t type;			/* OperationCode */
	uint32_t node;			/* the node of the graph that it implements */
	uint32_t in_count, out_count;
	/* index of its first input in refs; its outputs follow its inputs */
	uint32_t first;
};

struct builder {
	struct operand *operands;
	struct operation *operations;
	uint32_t *refs;
	uint32_t operand_count, operation_count, ref_count;
	uint32_t operand_room, operation_room, ref_room;
	uint32_t node;			/* node whose operations are recorded */
	struct chunk *arena;
	bool failed;
};

struct builder_mark {
	uint32_t operands, operations, refs;
};

void builder_free(struct builder *b);
struct builder_mark builder_mark(const struct builder *b);
void builder_rewind(struct builder *b, struct builder_mark mark);

/*
 * Allocates zeroed memory that is freed with the builder; on failure it fails the builder and
 * returns NULL.
 */
void *builder_alloc(struct builder *b, size_t size);

/* Transposes `count` matrices [rows, columns] to copies [columns, rows]; NULL if `data` is NULL. */
void *transposed_copy(struct builder *b, const void *data, size_t size, size_t count, size_t rows,
		      size_t columns);

/* Adds an operand and returns its number. */
uint32_t builder_operand(struct builder *b, const struct operand *operand);

/* Records an operation; numbers of operands are copied. */
void builder_operation(struct builder *b, int32_t type, uint32_t in_count, const uint32_t *in,
		       uint32_t out_count, const uint32_t *out);

/* Returns the bytes of an operand of known shape. */
size_t builder_size(const struct operand *operand);

/* Returns whether an operation from `from` on writes the operand. */
bool builder_writes(const struct builder *b, uint32_t from, uint32_t operand);

/* Returns the end of the operations of one node, which begin at `at`. */
uint32_t builder_end(const struct builder *b, uint32_t at);

/* Drops operations whose outputs are not needed; `keep` lists the operands that are. */
void builder_prune(struct builder *b, uint32_t count, const uint32_t *keep);

/*
 * Returns for each operand whether an operation reads it, to be freed by free(); NULL if memory
 * runs out.
 */
bool *builder_used(const struct builder *b);

/*
 * Makes a model of all operations with these inputs and outputs, and compiles it: see
 * devices_compile(). Constants of files are parts of the memory of `constants`, which may be NULL.
 * In the cache it has the hash of the model as its token. In this hash, the option cache_token
 * stands for constants of files. Returns a ResultCode; the model remains if only the compilation
 * failed.
 */
int builder_compile(const struct builder *b, struct constants *constants,
		    const struct devices *devices, const struct options *options,
		    uint32_t in_count, const uint32_t *in, uint32_t out_count, const uint32_t *out,
		    ANeuralNetworksModel **model, ANeuralNetworksCompilation **compilation);

/* Room for the reason why the NNAPI rejects a model. */
enum { BUILDER_WHY = 200 };

/*
 * Asks the devices about the operations [from, to): sets `supported` for each of them. Values do
 * not matter, so `constants` may be placeholders. Returns a ResultCode. If the NNAPI rejects the
 * model, `why` says so in place of the log; otherwise it is empty. It may be NULL.
 */
int builder_ask(const struct builder *b, uint32_t from, uint32_t to, struct constants *constants,
		const ANeuralNetworksDevice *const *devices, uint32_t count, bool *supported,
		char why[BUILDER_WHY]);

#endif
