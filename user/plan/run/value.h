/* SPDX-License-Identifier: MIT */
/*
 * A value while a plan runs: a tensor, and who its memory belongs to.
 */
#ifndef NN_PLAN_VALUE_H
#define NN_PLAN_VALUE_H

#include "plan/run/heap.h"

struct value {
	struct nn_tensor tensor;
	void *owned;		/* freed with the value; NULL: the memory is another's */
	bool foreign;		/* others may write the memory at any time */
	bool insufficient;	/* a model output that the caller's memory does not hold */
};

/* A value as the model declares its operand: unknown dimensions are 0, no memory yet. */
struct value value_declared(const struct nn_operand *operand);

/*
 * Bytes of type and dimensions (element size for a scalar); false when they do
 * not fit 32 bits.
 */
bool value_size(int32_t type, uint32_t rank, const uint32_t *dims, uint32_t *size);

/* Returns whether a tensor has the type and the known dimensions of its declaration. */
bool value_fits(const struct nn_tensor *tensor, const struct nn_tensor *declared);

/* Returns whether a kernel may access elements of that type at `data`. */
bool value_is_aligned(const void *data, int32_t type);

/* Makes the tensor's memory the value's own, from a heap; false: out of memory. */
bool value_allocate(struct value *value, struct heap *heap);

/* Makes a private copy of a value's data in place of memory of somebody else; false as above. */
bool value_own(struct value *value, struct heap *heap);

/* Frees what the value owns, which came from that heap. */
void value_release(struct value *value, struct heap *heap);

#endif /* NN_PLAN_VALUE_H */
