/* SPDX-License-Identifier: MIT */
/*
 * Memory of a device for a description's roles, and ordinary memory in its place if the CPU
 * replaces the device.
 */
#ifndef NN_RUNTIME_DOMAIN_H
#define NN_RUNTIME_DOMAIN_H

#include "runtime/memory_desc.h"

/*
 * Asks the one device that has all roles for memory, which becomes domain->buffer. Returns NO_ERROR
 * without a buffer if the device has no memory of its own, OP_FAILED if several devices or none
 * have the roles, or the device's error.
 */
int domain_allocate(const ANeuralNetworksMemoryDesc *desc, struct memory_domain *domain,
		    struct nn_error *err);

/*
 * Replaces device memory in a request by memory of this process: a copy of the inputs, and room for
 * outputs, whose shapes must be known (OP_FAILED). domain_unbounce() must follow. With `success` it
 * writes the outputs back; then it restores the request, and frees *saved.
 */
struct bounce;
int domain_bounce(struct request *request, struct bounce **saved, struct nn_error *err);
int domain_unbounce(struct request *request, struct bounce *saved, bool success,
		    struct nn_error *err);

#endif /* NN_RUNTIME_DOMAIN_H */
