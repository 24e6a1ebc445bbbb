/* SPDX-License-Identifier: MIT */
/*
 * The format of a serialised model, which a client sends to its worker in a sealed memfd. The
 * format has host byte order, because client and worker run on the same machine.
 *
 * A header is followed by the sections below without gaps; the header contains the number of each
 * section's elements:
 *
 *	wire_subgraph[num_subgraphs]	the main subgraph first
 *	wire_operand[num_operands]	operands of subgraph 0, then of subgraph 1, ...
 *	wire_operation[num_operations]	operations of subgraph 0, then of subgraph 1, ...
 *	wire_extension[num_extensions]
 *	uint64_t[num_pools]		size of each pool
 *	uint32_t[num_indices]		for each subgraph: its inputs, its outputs, then for
 *					each operation its inputs and its outputs
 *	float[num_scales]		of the operands that have scales, in order
 *	uint8_t[num_bytes]		extension bytes of the operands that have such bytes, in
 *					order, then the extensions' names, not terminated
 *	uint8_t[values_size]		values of copied constants
 *
 * The order of the sections determines the location of each section. The format contains no offsets
 * to check, sections cannot overlap, and a model has exactly one serialisation.
 */
#ifndef NN_MODEL_WIRE_H
#define NN_MODEL_WIRE_H

#include <nnaccel/engine_model.h>

#define WIRE_MAGIC 0x646d6e6eu	/* "nnmd" */
#define WIRE_VERSION 1
#define WIRE_RELAXED 1u		/* flag: float32 may be computed as float16 */

struct wire_header {
	uint32_t magic;
	uint32_t version;
	uint64_t size;		/* size of the whole serialised model */
	uint64_t values_size;
	uint32_t flags;
	uint32_t num_subgraphs;
	uint32_t num_operands;
	uint32_t num_operations;
	uint32_t num_extensions;
	uint32_t num_pools;
	uint32_t num_indices;
	uint32_t num_scales;
	uint32_t num_bytes;
	uint32_t reserved;	/* 0 */
};

struct wire_subgraph {
	uint32_t num_operands;
	uint32_t num_operations;
	uint32_t num_inputs;
	uint32_t num_outputs;
};

struct wire_operand {
	int32_t type;
	uint32_t lifetime;
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];
	float scale;
	int32_t zero_point;
	uint32_t consumers;
	uint32_t pool;
	uint32_t length;
	uint64_t offset;
	uint32_t extra_kind;
	uint32_t channel_dim;
	uint32_t extra_count;
	uint32_t reserved;	/* 0 */
};

struct wire_operation {
	int32_t type;
	uint32_t num_inputs;
	uint32_t num_outputs;
};

struct wire_extension {
	uint32_t prefix;	/* fits 16 bits */
	uint32_t name_length;
};

_Static_assert(sizeof(size_t) == 8, "sums of sizes that fit memory do not overflow");
_Static_assert(sizeof(struct wire_header) == 64, "the wire form has no hidden padding");
_Static_assert(sizeof(struct wire_subgraph) == 16, "the wire form has no hidden padding");
_Static_assert(sizeof(struct wire_operand) == 120, "the wire form has no hidden padding");
_Static_assert(sizeof(struct wire_operation) == 12, "the wire form has no hidden padding");
_Static_assert(sizeof(struct wire_extension) == 8, "the wire form has no hidden padding");

/* The sections in order; W_END is the end of the last section. */
enum wire_section {
	W_SUBGRAPHS,
	W_OPERANDS,
	W_OPERATIONS,
	W_EXTENSIONS,
	W_POOLS,
	W_INDICES,
	W_SCALES,
	W_BYTES,
	W_VALUES,
	W_END,
};

/*
 * Computes the start of each section from the counts of a header. Returns false if the total does
 * not fit in 64 bits.
 */
bool wire_layout(const struct wire_header *h, uint64_t start[W_END + 1]);

#endif /* NN_MODEL_WIRE_H */
