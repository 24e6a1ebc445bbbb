/* SPDX-License-Identifier: MIT */
/*
 * Inputs and outputs of the node that is being translated. Each plug-in defines these functions for
 * the translators that both share.
 */
#ifndef NN_LOWER_READER_H
#define NN_LOWER_READER_H

#include "clients/lower/lower.h"

uint32_t in_count(struct lowering *t);
bool has_in(struct lowering *t, uint32_t index);
const struct shape *shape_in(struct lowering *t, uint32_t index);
uint32_t in(struct lowering *t, uint32_t index);
/* The same as floats; refuses other types. */
uint32_t float_in(struct lowering *t, uint32_t index);
/* The same as numbers that arithmetic may be done with: floats, or int32. */
uint32_t number_in(struct lowering *t, uint32_t index);

/* Returns the number of elements of a constant input; -1: it is not constant, or missing. */
int64_t constant_count(struct lowering *t, uint32_t index);
/* Constant numbers in memory of the builder; refuses what is not such a constant. */
int64_t *ints_in(struct lowering *t, uint32_t index, int64_t *count);
float *floats_of_count(struct lowering *t, uint32_t index, int64_t count);

bool has_out(struct lowering *t, uint32_t index);
/* An output is these elements; the shape of the operand may be another. */
void set_out(struct lowering *t, uint32_t index, uint32_t operand, const struct shape *shape);

/*
 * Whether input 0 and output 0 have 8 bits: their operands. Then set_bytes() may set the output.
 */
bool bytes_in(struct lowering *t, uint32_t *x, uint32_t *out);
void set_bytes(struct lowering *t, uint32_t operand, const struct shape *shape);

#endif
