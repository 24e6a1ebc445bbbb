/* SPDX-License-Identifier: MIT */
/*
 * Allocates a device's own memory for a memory description. If the CPU executes a request in place
 * of the device, ordinary memory replaces the device's memory in the request.
 */
#ifndef NN_RUNTIME_DOMAIN_H
#define NN_RUNTIME_DOMAIN_H

#include "runtime/memory_desc.h"

/*
 * Allocates domain->buffer from the single device that computes the operands of all roles. Returns
 * NO_ERROR and leaves domain->buffer NULL if the device has no memory of its own. Returns OP_FAILED
 * unless exactly one device computes the operands; returns the device's error if the device fails.
 */
int domain_allocate(const ANeuralNetworksMemoryDesc *desc, struct memory_domain *domain,
		    struct nn_error *err);

/*
 * Replaces device memory in a request by memory of this process, with a copy of the inputs. Returns
 * OP_FAILED if the shape of an output is unknown. After domain_bounce(), the caller must call
 * domain_unbounce(), which restores the request and frees *saved. With `success`, domain_unbounce()
 * first writes the outputs to the device memory.
 */
struct bounce;
int domain_bounce(struct request *request, struct bounce **saved, struct nn_error *err);
int domain_unbounce(struct request *request, struct bounce *saved, bool success,
		    struct nn_error *err);

#endif /* NN_RUNTIME_DOMAIN_H */
