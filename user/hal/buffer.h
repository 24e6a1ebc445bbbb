/* SPDX-License-Identifier: MIT */
/*
 * Buffers as arguments of executions: what a request's tokens name, the shapes
 * that it may take them for, and what it leaves in them.
 */
#ifndef NN_HAL_BUFFER_H
#define NN_HAL_BUFFER_H

#include "hal.h"

/* Tokens that need no memory of the heap. */
#define NNA_SMALL_TOKENS 8

/* The buffers of a request, held. */
struct nna_buffer_uses {
	uint32_t count;
	struct nna_buffer **buffers;
	uint64_t *tokens;		/* of the kernel */
	struct nna_buffer *small_buffers[NNA_SMALL_TOKENS];
	uint64_t small_tokens[NNA_SMALL_TOKENS];
};

/* NN_INVALID_ARGUMENT: a token that names no buffer, or comes twice. To be ended by _end(). */
enum nn_status nna_buffer_uses_begin(struct nna_buffer_uses *uses, struct nna_device *device,
				     const struct nna_request *request, struct nn_error *err);
void nna_buffer_uses_end(struct nna_buffer_uses *uses);

/*
 * Checks the arguments that are buffers against what those hold or can hold,
 * gives inputs their shapes, makes room where an output's size is known, and
 * fills in uses->tokens.
 */
enum nn_status nna_buffer_uses_check(struct nna_buffer_uses *uses,
				     const struct nna_request *request, struct nnaccel_arg *args,
				     struct nn_error *err);

/*
 * After an execution: what outputs hold now, by its shapes. *again: one whose size
 * was open was too small and has grown.
 */
void nna_buffer_uses_note(struct nna_buffer_uses *uses, const struct nna_request *request,
			  enum nn_status status, const struct nnaccel_shape *shapes,
			  uint32_t num_shapes, bool *again);

#endif /* NN_HAL_BUFFER_H */
