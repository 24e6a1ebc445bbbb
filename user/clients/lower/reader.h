/* SPDX-License-Identifier: MIT */
/*
 * Reads inputs and sets outputs of the node in translation. The translators that both plug-ins
 * share call these functions, and each plug-in defines them.
 */
#ifndef NN_LOWER_READER_H
#define NN_LOWER_READER_H

#include "clients/lower/lower.h"

uint32_t in_count(struct lowering *t);
bool has_in(struct lowering *t, uint32_t index);
const struct shape *shape_in(struct lowering *t, uint32_t index);
uint32_t in(struct lowering *t, uint32_t index);
/* Returns input `index` as float; rejects other types. */
uint32_t float_in(struct lowering *t, uint32_t index);
/* Returns input `index` as a number for arithmetic: float or int32. */
uint32_t number_in(struct lowering *t, uint32_t index);

/*
 * Returns the number of elements of a constant input; -1 if the input is missing or not constant.
 */
int64_t constant_count(struct lowering *t, uint32_t index);
/*
 * Reads an input's constant numbers to memory of the builder; rejects an input that is not
 * constant.
 */
int64_t *ints_in(struct lowering *t, uint32_t index, int64_t *count);
float *floats_of_count(struct lowering *t, uint32_t index, int64_t count);
/*
 * Reads exactly `count` constant numbers. If the input does not have exactly `count` constant
 * numbers, rejects the node with a message that contains `what`, and returns NULL.
 */
int64_t *ints_of_count(struct lowering *t, uint32_t index, const char *what, int64_t count);
/* Reads the constant index of an axis, or rejects the node and returns 0. */
int axis_in(struct lowering *t, uint32_t index, int rank);

bool has_out(struct lowering *t, uint32_t index);
/*
 * Sets an output to the elements of an operand in the shape `shape`, which may differ from the
 * operand's shape.
 */
void set_out(struct lowering *t, uint32_t index, uint32_t operand, const struct shape *shape);

/*
 * Returns whether input 0 and output 0 are 8-bit tensors. For 8-bit tensors, sets *x to an operand
 * for the input, and *out to an operand for the output. If bytes_in() returns true, set_bytes() may
 * set the output.
 */
bool bytes_in(struct lowering *t, uint32_t *x, uint32_t *out);
void set_bytes(struct lowering *t, uint32_t operand, const struct shape *shape);

#endif
