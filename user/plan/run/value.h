/* SPDX-License-Identifier: MIT */
/*
 * The value of an operand while a plan runs: a tensor, and the memory that the value owns.
 */
#ifndef NN_PLAN_VALUE_H
#define NN_PLAN_VALUE_H

#include "plan/run/heap.h"

struct value {
	struct nn_tensor tensor;
	void *owned;		/* memory to free with the value; NULL if another owner frees it */
	bool foreign;		/* processes other than this one may write the memory at any time */
	bool insufficient;	/* a model output that does not fit in the caller's memory */
};

/*
 * Returns a value without memory, with the type and dimensions of the operand's declaration;
 * unknown dimensions are 0.
 */
struct value value_declared(const struct nn_operand *operand);

/*
 * Computes the size in bytes of a tensor, or of one element for a scalar type; returns false if the
 * size does not fit in 32 bits.
 */
bool value_size(int32_t type, uint32_t rank, const uint32_t *dims, uint32_t *size);

/* Returns whether a tensor has the type and the known dimensions of its declaration. */
bool value_fits(const struct nn_tensor *tensor, const struct nn_tensor *declared);

/* Returns whether a kernel may access elements of the type `type` at `data`. */
bool value_is_aligned(const void *data, int32_t type);

/*
 * Allocates memory for the value's tensor from a heap; the value owns the memory. Returns false if
 * memory runs out.
 */
bool value_allocate(struct value *value, struct heap *heap);

/*
 * Replaces memory that the value does not own by a private copy that the value owns. Returns false
 * if memory runs out.
 */
bool value_own(struct value *value, struct heap *heap);

/* Frees the memory that the value owns, which was allocated from `heap`. */
void value_release(struct value *value, struct heap *heap);

#endif /* NN_PLAN_VALUE_H */
