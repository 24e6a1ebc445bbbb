/* SPDX-License-Identifier: MIT */
/* Descriptions of memories by their roles, and the rules for memories made from descriptions. */
#ifndef NN_RUNTIME_MEMORY_DESC_H
#define NN_RUNTIME_MEMORY_DESC_H

#include "runtime/compilation.h"

struct ANeuralNetworksMemoryDesc {
	bool finished;
	uint32_t num_roles;
	struct memory_role *roles;
	/*
	 * Operand that all roles share; before the first role, only the operand's dimensions are
	 * set.
	 */
	struct nn_operand operand;
};

/*
 * Returns BAD_DATA unless a memory can be the given argument of the compilation: the memory must
 * have the argument's role, be used whole, and fit the operand's shape.
 */
int memory_check_role(const ANeuralNetworksMemory *memory,
		      const ANeuralNetworksCompilation *compilation, bool output, uint32_t index,
		      const struct nn_operand *operand, size_t offset, size_t length,
		      struct nn_error *err);

/* Returns whether a memory was made for the given shape; a dimension of 0 is unknown. */
bool memory_may_hold(const ANeuralNetworksMemory *memory, uint32_t rank, const uint32_t *dims);

/* Returns OP_FAILED unless the memory of input `index` has contents of the given shape. */
int memory_check_input(const ANeuralNetworksMemory *memory, uint32_t index, uint32_t rank,
		       const uint32_t *dims, struct nn_error *err);

/* Records that an execution or a copy has written a memory, or has failed to write the memory. */
void memory_note_written(const ANeuralNetworksMemory *memory, bool success, uint32_t rank,
			 const uint32_t *dims);

/* Returns whether the memory has contents, and sets *operand to the contents' type and shape. */
bool memory_get_contents(const ANeuralNetworksMemory *memory, struct nn_operand *operand);

#endif /* NN_RUNTIME_MEMORY_DESC_H */
