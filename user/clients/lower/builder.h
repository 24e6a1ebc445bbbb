/* SPDX-License-Identifier: MIT */
/*
 * A model of the NNAPI under construction. The builder records operands and operations, and can
 * drop all that were recorded after a mark. The function builder_compile() makes an
 * ANeuralNetworksModel of all operations; builder_ask() makes one of some operations. If memory
 * runs out, `failed` is set, and all later calls for the builder fail.
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
	/* scale for each index of dimension `channel`; in the arena */
	const float *scales;
	uint32_t channel;
	const void *data;		/* data of a constant; in the arena or the graph */
	size_t size;
	bool in_file;	/* true: the data may be in a file that struct constants maps */
	bool omitted;			/* true: a constant without a value */
	/* For a view: 1 + the number of the operand whose elements are viewed; otherwise 0. */
	uint32_t view_of;
};

struct operation {
	int32_t type;			/* OperationCode */
	uint32_t node;			/* the node of the graph that the operation implements */
	uint32_t in_count, out_count;
	/* index of the operation's first input in `refs`; the outputs follow the inputs */
	uint32_t first;
};

struct builder {
	struct operand *operands;
	struct operation *operations;
	uint32_t *refs;
	uint32_t operand_count, operation_count, ref_count;
	uint32_t operand_room, operation_room, ref_room;
	uint32_t node;			/* node whose operations are being recorded */
	struct chunk *arena;
	bool is_trial;			/* true: the contents of large constants are not read */
	bool failed;
};

struct builder_mark {
	uint32_t operands, operations, refs;
};

void builder_free(struct builder *b);
struct builder_mark builder_mark(const struct builder *b);
void builder_rewind(struct builder *b, struct builder_mark mark);

/*
 * Allocates zeroed memory, which is freed with the builder. On failure, sets `failed` and returns
 * NULL.
 */
void *builder_alloc(struct builder *b, size_t size);

/* Transposes `count` matrices [rows, columns] of elements of `size` bytes to [columns, rows]. */
void transpose_matrices(void *to, const void *from, size_t size, size_t count, size_t rows, size_t columns);

/*
 * Returns copies that transpose_matrices() makes, or NULL if `data` is NULL. In a trial the copies
 * have only zeros.
 */
void *transposed_copy(struct builder *b, const void *data, size_t size, size_t count, size_t rows,
		      size_t columns);

uint32_t builder_operand(struct builder *b, const struct operand *operand);

/* Records an operation; copies the lists of operand numbers. */
void builder_operation(struct builder *b, int32_t type, uint32_t in_count, const uint32_t *in,
		       uint32_t out_count, const uint32_t *out);

/* Returns the bytes of an operand of known shape. */
size_t builder_size(const struct operand *operand);

/* Returns whether operation `from` or any later operation writes the operand. */
bool builder_writes(const struct builder *b, uint32_t from, uint32_t operand);

/* Returns 1 + the index of the last operation that belongs to the same node as operation `at`. */
uint32_t builder_end(const struct builder *b, uint32_t at);

/* Drops operations whose outputs are not needed to compute the operands in `keep`. */
void builder_prune(struct builder *b, uint32_t count, const uint32_t *keep);

/*
 * Returns a list that has, for each operand, whether an operation reads the operand. The caller
 * frees the list by free(). Returns NULL if memory runs out.
 */
bool *builder_used(const struct builder *b);

/*
 * Makes a model of all operations with inputs `in` and outputs `out`, and compiles the model by
 * devices_compile(). Constants in files become parts of the memory of `constants`, which may be
 * NULL. The token of the compilation in the cache is a hash of the model, in which the option
 * cache_token replaces constants in files. Returns a ResultCode. If the model is made but its
 * compilation fails, the model is still returned.
 */
int builder_compile(const struct builder *b, struct constants *constants,
		    const struct devices *devices, const struct options *options,
		    uint32_t in_count, const uint32_t *in, uint32_t out_count, const uint32_t *out,
		    ANeuralNetworksModel **model, ANeuralNetworksCompilation **compilation);

/* Size of the text that says why the NNAPI rejects a model. */
enum { BUILDER_WHY = 200 };

/*
 * Sets each element of supported[] to true if the devices support the operation, for the operations
 * from `from` to `to` - 1. The values of constants do not matter, so `constants` may consist of
 * placeholders. Returns a ResultCode. If the NNAPI rejects the model, the reason is written to
 * `why` and not to the log; otherwise `why` becomes empty. `why` may be NULL.
 */
int builder_ask(const struct builder *b, uint32_t from, uint32_t to, struct constants *constants,
		const ANeuralNetworksDevice *const *devices, uint32_t count, bool *supported,
		char why[BUILDER_WHY]);

#endif
