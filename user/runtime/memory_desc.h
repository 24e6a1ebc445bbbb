/* SPDX-License-Identifier: MIT */
/*
 * Descriptions of memories by their roles, and the rules for memories that were
 * made from one.
 */
#ifndef NN_RUNTIME_MEMORY_DESC_H
#define NN_RUNTIME_MEMORY_DESC_H

#include "runtime/compilation.h"

struct ANeuralNetworksMemoryDesc {
	bool finished;
	uint32_t num_roles;
	struct memory_role *roles;
	/* Operand of all roles; before the first role it has only dimensions. */
	struct nn_operand operand;
};

/*
 * Returns BAD_DATA unless a memory may be that argument: it must have this role, be used whole, and
 * have this shape.
 */
int memory_check_role(const ANeuralNetworksMemory *memory,
		      const ANeuralNetworksCompilation *compilation, bool output, uint32_t index,
		      const struct nn_operand *operand, size_t offset, size_t length,
		      struct nn_error *err);

/* Returns whether a memory was made for the given shape, in which 0 is an unknown dimension. */
bool memory_may_hold(const ANeuralNetworksMemory *memory, uint32_t rank, const uint32_t *dims);

/* Returns OP_FAILED unless a memory holds an input of the given shape. */
int memory_check_input(const ANeuralNetworksMemory *memory, uint32_t index, uint32_t rank,
		       const uint32_t *dims, struct nn_error *err);

/* Records that an execution or a copy wrote a memory, or failed to. */
void memory_note_written(const ANeuralNetworksMemory *memory, bool success, uint32_t rank,
			 const uint32_t *dims);

/* Returns whether the memory has contents, and their shape. */
bool memory_get_contents(const ANeuralNetworksMemory *memory, struct nn_operand *operand);

#endif /* NN_RUNTIME_MEMORY_DESC_H */
