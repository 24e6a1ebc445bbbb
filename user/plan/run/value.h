/* SPDX-License-Identifier: MIT */
/*
 * A value while a plan runs: a tensor, and who owns its memory.
 */
#ifndef NN_PLAN_VALUE_H
#define NN_PLAN_VALUE_H

#include "plan/run/heap.h"

struct value {
	struct nn_tensor tensor;
	void *owned;		/* freed with the value; NULL: others own the memory */
	bool foreign;		/* other processes may write the memory at any time */
	bool insufficient;	/* a model output for which the caller's memory is too small */
};

/* Returns a value as the model declares its operand: without memory; unknown dimensions are 0. */
struct value value_declared(const struct nn_operand *operand);

/*
 * Computes the bytes of a type and dimensions: the size of an element for a scalar. Returns false
 * if the number does not fit in 32 bits.
 */
bool value_size(int32_t type, uint32_t rank, const uint32_t *dims, uint32_t *size);

/*
 * Returns whether a tensor has the type of its declaration, and the dimensions that are known
 * there.
 */
bool value_fits(const struct nn_tensor *tensor, const struct nn_tensor *declared);

/* Returns whether a kernel may access elements of that type at `data`. */
bool value_is_aligned(const void *data, int32_t type);

/*
 * Allocates the tensor's memory from a heap, for the value to own. Returns false if memory runs
 * out.
 */
bool value_allocate(struct value *value, struct heap *heap);

/*
 * If others own a value's memory, replaces it by a private copy. Returns false if memory runs out.
 */
bool value_own(struct value *value, struct heap *heap);

/* Frees the memory that the value owns, which came from `heap`. */
void value_release(struct value *value, struct heap *heap);

#endif /* NN_PLAN_VALUE_H */
