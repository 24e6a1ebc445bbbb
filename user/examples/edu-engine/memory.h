/* SPDX-License-Identifier: MIT */
/*
 * Clients' memory for the device's DMA. A region of memory is pinned from its first use until the
 * library calls forget_region().
 */
#ifndef EDU_MEMORY_H
#define EDU_MEMORY_H

#include <nnaccel/engine.h>

#include "device.h"

/* Sets *at to the DMA address of an argument's `data`. */
enum nn_status edu_memory_reach(struct edu *edu, struct nna_engine_execution *execution,
				const void *data, uint64_t *at, struct nn_error *err);

/* Unpins a region of memory, so that the device cannot access the region any more. */
void edu_memory_forget(struct edu *edu, const struct nna_engine_region *region);

#endif /* EDU_MEMORY_H */
