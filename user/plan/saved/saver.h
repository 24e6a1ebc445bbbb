/* SPDX-License-Identifier: MIT */
/*
 * The state of saving a plan: a copy of its model, which is changed until it is what a load reads.
 */
#ifndef NN_PLAN_SAVER_H
#define NN_PLAN_SAVER_H

#include "model/operand.h"
#include "plan/compiled.h"
#include "plan/saved/saved.h"

/* Bytes of the data part, in their order. */
struct piece {
	const void *from;
	uint64_t offset;
	uint64_t size;
};

struct nn_plan_pieces {
	struct saved_stamp stamp;
	uint64_t data_size;
	uint32_t count;
	struct piece list[];
};

/* Adds a piece, aligned, to what data_size bytes have so far; returns its offset. */
uint64_t pieces_add(struct nn_plan_pieces *p, const void *from, uint64_t size);

/* Ends the data part at a page; without pieces it is empty. */
void pieces_end(struct nn_plan_pieces *p);

struct saver {
	const struct nn_plan *plan;
	struct nn_model model;
	struct nn_pool pool;
	struct nn_subgraph *subgraphs;
	struct nn_operand *operands;	/* of all subgraphs, as far from another as at first; */
	struct nn_operation *operations; /* and so are these */
	bool *determines;		/* by operand */
	const void **values;		/* by operand: of constants */
	uint8_t *copied;		/* the model's values */
	struct nn_plan_pieces *pieces;
	struct nn_error *err;
};

/* Returns the place of a subgraph's operands in the lists of all operands. */
static inline size_t saver_first(const struct saver *s, uint32_t subgraph)
{
	return (size_t)(s->subgraphs[subgraph].operands - s->operands);
}

/*
 * Replaces the wire form in an image's model part by the serialised plan, and drops the pieces that
 * it does not need. Leaves both unchanged if a step cannot be serialised, or an argument may be
 * omitted. Returns NN_OK or NN_OUT_OF_MEMORY.
 */
enum nn_status plan_serialise(struct nn_plan_image *image, struct nn_plan_pieces *pieces);

#endif /* NN_PLAN_SAVER_H */
