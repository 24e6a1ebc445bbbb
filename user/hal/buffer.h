/* SPDX-License-Identifier: MIT */
/*
 * Buffers as arguments of executions: the buffers of a request's tokens, their possible shapes, and
 * their contents after the execution.
 */
#ifndef NN_HAL_BUFFER_H
#define NN_HAL_BUFFER_H

#include "device.h"

/* Number of tokens that need no heap memory. */
#define NNA_SMALL_TOKENS 8

/* The buffers of a request; the first `count` are held. */
struct nna_buffer_uses {
	uint32_t count;
	struct nna_buffer **buffers;
	uint32_t *ids;			/* the kernel's ids */
	struct nna_buffer *small_buffers[NNA_SMALL_TOKENS];
	uint32_t small_ids[NNA_SMALL_TOKENS];
};

void nna_buffers_init(struct nna_buffer_uses *uses);

/*
 * Prepares the buffers of an execution. It holds those that the request names, checks the arguments
 * against their contents or capacity, and sets the shapes of inputs. It also enlarges outputs of
 * known size, and fills in uses->ids. Returns NN_INVALID_ARGUMENT for a token without a buffer, a
 * repeated token, or a shape that does not fit.
 */
enum nn_status nna_buffers_in(struct nna_buffer_uses *uses, struct nna_device *device,
			      const struct nna_request *request, struct nnaccel_arg *args,
			      struct nn_error *err);

/*
 * Records the contents of outputs after an execution, by its shapes. Sets *again if a buffer of
 * open size was too small and has grown; uses->ids has its new id.
 */
void nna_buffers_out(struct nna_buffer_uses *uses, const struct nna_request *request,
		     enum nn_status status, const struct nnaccel_shape *shapes,
		     uint32_t num_shapes, bool *again);

void nna_buffers_release(struct nna_buffer_uses *uses);

#endif /* NN_HAL_BUFFER_H */
