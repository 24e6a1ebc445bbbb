/* SPDX-License-Identifier: MIT */
/* Buffers of memory domains. The contents of a domain are in the GPU's own memory. */
#ifndef NN_VULKAN_DOMAIN_H
#define NN_VULKAN_DOMAIN_H

#include "vulkan/commands.h"

struct domain;

/* Makes a domain of `size` bytes, which holds a reference to the GPU. */
enum nn_status domain_create(struct gpu *gpu, uint64_t size, struct domain **domain,
			     struct nn_error *err);

/* Waits until the GPU is idle, and frees the domain. */
void domain_release(struct domain *domain);

/*
 * Copies `length` bytes between the CPU's memory and the begin of a domain. Returns
 * NN_DEVICE_UNAVAILABLE if the GPU was lost; the domain's contents are then lost, too.
 */
enum nn_status domain_write(struct domain *domain, const void *from, uint64_t length,
			    struct nn_error *err);
enum nn_status domain_read(struct domain *domain, void *to, uint64_t length, struct nn_error *err);

/*
 * Finds the place of an argument of `length` bytes that is in a domain. The model that uses the
 * argument is prepared for `gpu`. Returns NN_DEVICE_UNAVAILABLE if the domain's GPU was lost.
 */
enum nn_status domain_place(const struct domain *domain, const struct gpu *gpu, uint64_t length,
			    struct place *place, struct nn_error *err);

#endif /* NN_VULKAN_DOMAIN_H */
