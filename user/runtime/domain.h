/* SPDX-License-Identifier: MIT */
/*
 * Memory of a device for a description's roles. If the CPU replaces the device, ordinary memory
 * replaces the device's memory.
 */
#ifndef NN_RUNTIME_DOMAIN_H
#define NN_RUNTIME_DOMAIN_H

#include "runtime/memory_desc.h"

/*
 * Allocates domain->buffer from the single device that has all roles. Returns NO_ERROR without a
 * buffer if the device has no memory of its own. Returns OP_FAILED if several devices or none have
 * the roles, or the device's error.
 */
int domain_allocate(const ANeuralNetworksMemoryDesc *desc, struct memory_domain *domain,
		    struct nn_error *err);

/*
 * Replaces device memory in a request by memory of this process: a copy of the inputs, and room for
 * outputs, whose shapes must be known (OP_FAILED). The caller must then call domain_unbounce(),
 * which restores the request and frees *saved. With `success`, it first writes the outputs back to
 * the device memory.
 */
struct bounce;
int domain_bounce(struct request *request, struct bounce **saved, struct nn_error *err);
int domain_unbounce(struct request *request, struct bounce *saved, bool success,
		    struct nn_error *err);

#endif /* NN_RUNTIME_DOMAIN_H */
