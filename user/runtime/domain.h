/* SPDX-License-Identifier: MIT */
/*
 * Memory of a device for a description's roles, and ordinary memory in its place
 * where the CPU takes the device's.
 */
#ifndef NN_RUNTIME_DOMAIN_H
#define NN_RUNTIME_DOMAIN_H

#include "runtime/memory_desc.h"

/*
 * Asks the one device that has all roles for memory: domain->buffer. Returns NO_ERROR
 * without a buffer if the device has no memory of its own, OP_FAILED if several devices
 * or none have the roles, or the device's error.
 */
int domain_allocate(const ANeuralNetworksMemoryDesc *desc, struct memory_domain *domain,
		    struct nn_error *err);

/*
 * Gives a request memory of this process in the place of device memory: a copy of
 * what inputs hold, and room for outputs, whose shapes must be known (OP_FAILED).
 * To be followed by domain_unbounce(), which with `success` writes the outputs
 * back and lets the request have what it had; it takes *saved.
 */
struct bounce;
int domain_bounce(struct request *request, struct bounce **saved, struct nn_error *err);
int domain_unbounce(struct request *request, struct bounce *saved, bool success,
		    struct nn_error *err);

#endif /* NN_RUNTIME_DOMAIN_H */
