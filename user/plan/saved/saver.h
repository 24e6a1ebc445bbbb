/* SPDX-License-Identifier: MIT */
/* The state while a plan is saved: a copy of the plan's model, converted to the saved form. */
#ifndef NN_PLAN_SAVER_H
#define NN_PLAN_SAVER_H

#include "model/operand.h"
#include "plan/compiled.h"
#include "plan/saved/saved.h"

/* A piece of the data part: packed weights or a constant. All pieces are sorted by offset. */
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

/* Appends a piece to the data part, aligned to SAVED_ALIGN; returns the offset of the piece. */
uint64_t pieces_add(struct nn_plan_pieces *p, const void *from, uint64_t size);

/* Pads the data part to whole pages; a data part without pieces is empty. */
void pieces_end(struct nn_plan_pieces *p);

struct saver {
	const struct nn_plan *plan;
	struct nn_model model;
	struct nn_pool pool;
	struct nn_subgraph *subgraphs;
	struct nn_operand *operands;	/* operands of all subgraphs in one array */
	struct nn_operation *operations; /* operations of all subgraphs in one array */
	bool *determines;		/* by operand */
	const void **values;		/* for each operand: its value if constant */
	uint8_t *copied;		/* the model's values */
	struct nn_plan_pieces *pieces;
	struct nn_error *err;
};

/* Returns the index of a subgraph's first operand among the operands of all subgraphs. */
static inline size_t saver_first(const struct saver *s, uint32_t subgraph)
{
	return (size_t)(s->subgraphs[subgraph].operands - s->operands);
}

/*
 * Replaces the model in an image's model part by the serialised plan, and drops pieces of the data
 * part that the serialised plan does not need. Leaves `image` and `pieces` unchanged if a step
 * cannot be serialised, or if an argument may be omitted. Returns NN_OK or NN_OUT_OF_MEMORY.
 */
enum nn_status plan_serialise(struct nn_plan_image *image, struct nn_plan_pieces *pieces);

#endif /* NN_PLAN_SAVER_H */
