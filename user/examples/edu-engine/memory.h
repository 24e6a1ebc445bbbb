/* SPDX-License-Identifier: MIT */
/*
 * Clients' memory within the device's reach. It is pinned at its first use, until the library
 * forgets it.
 */
#ifndef EDU_MEMORY_H
#define EDU_MEMORY_H

#include <nnaccel/engine.h>

#include "device.h"

/* Sets *at to the device's address of the `data` of an argument of the execution. */
enum nn_status edu_memory_reach(struct edu *edu, struct nna_engine_execution *execution,
				const void *data, uint64_t *at, struct nn_error *err);

/* The device reaches it no longer. */
void edu_memory_forget(struct edu *edu, const struct nna_engine_region *region);

#endif /* EDU_MEMORY_H */
