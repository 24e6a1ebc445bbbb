/* SPDX-License-Identifier: MIT */
/*
 * Buffers as arguments of executions: what a request's tokens name, the shapes
 * that it may take them for, and what it leaves in them.
 */
#ifndef NN_HAL_BUFFER_H
#define NN_HAL_BUFFER_H

#include "device.h"

/* Tokens that need no memory of the heap. */
#define NNA_SMALL_TOKENS 8

/* The buffers of a request; the first `count` are held. */
struct nna_buffer_uses {
	uint32_t count;
	struct nna_buffer **buffers;
	uint32_t *ids;			/* of the kernel */
	struct nna_buffer *small_buffers[NNA_SMALL_TOKENS];
	uint32_t small_ids[NNA_SMALL_TOKENS];
};

void nna_buffers_init(struct nna_buffer_uses *uses);

/*
 * Before an execution: holds the buffers that the request names, unless they are held, checks its
 * arguments against what those hold or can hold, gives inputs their shapes, makes room where an
 * output's size is known, and fills in uses->ids. NN_INVALID_ARGUMENT: a token that names no
 * buffer, or comes twice, or a shape that does not fit.
 */
enum nn_status nna_buffers_in(struct nna_buffer_uses *uses, struct nna_device *device,
			      const struct nna_request *request, struct nnaccel_arg *args,
			      struct nn_error *err);

/*
 * After it: what outputs hold now, by its shapes. *again: one whose size was open was too small and
 * has grown, and uses->ids says what stands for it now.
 */
void nna_buffers_out(struct nna_buffer_uses *uses, const struct nna_request *request,
		     enum nn_status status, const struct nnaccel_shape *shapes,
		     uint32_t num_shapes, bool *again);

void nna_buffers_release(struct nna_buffer_uses *uses);

#endif /* NN_HAL_BUFFER_H */
