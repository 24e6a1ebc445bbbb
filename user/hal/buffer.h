/* SPDX-License-Identifier: MIT */
/*
 * Buffers as arguments of executions: finds the buffers of a request's tokens, checks shapes, and
 * records contents after the execution.
 */
#ifndef NN_HAL_BUFFER_H
#define NN_HAL_BUFFER_H

#include "device.h"

/* A request with at most this number of tokens needs no heap memory. */
#define NNA_SMALL_TOKENS 8

/* The buffers of a request, with a reference to each of the first `count` buffers. */
struct nna_buffer_uses {
	uint32_t count;
	struct nna_buffer **buffers;
	uint32_t *ids;			/* the kernel's ids */
	struct nna_buffer *small_buffers[NNA_SMALL_TOKENS];
	uint32_t small_ids[NNA_SMALL_TOKENS];
};

void nna_buffers_init(struct nna_buffer_uses *uses);

/*
 * Prepares the buffers of an execution. Takes references to the buffers that the request names,
 * checks the arguments against the buffers' contents or capacity, and sets the shapes of inputs.
 * Enlarges the buffer of each output whose size is known. Sets uses->ids to the kernel's ids of the
 * buffers. Returns NN_INVALID_ARGUMENT for a token without a buffer, a repeated token, or a shape
 * that does not fit.
 */
enum nn_status nna_buffers_in(struct nna_buffer_uses *uses, struct nna_device *device,
			      const struct nna_request *request, struct nnaccel_arg *args,
			      struct nn_error *err);

/*
 * Records the shapes of outputs' contents after an execution. Sets *again if an output of unknown
 * size did not fit and its buffer has grown. When *again is set, uses->ids has the buffer's new id.
 */
void nna_buffers_out(struct nna_buffer_uses *uses, const struct nna_request *request,
		     enum nn_status status, const struct nnaccel_shape *shapes,
		     uint32_t num_shapes, bool *again);

void nna_buffers_release(struct nna_buffer_uses *uses);

#endif /* NN_HAL_BUFFER_H */
