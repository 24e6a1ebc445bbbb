/* SPDX-License-Identifier: MIT */
/*
 * Clients' memory as buffers of the GPU, without a copy: imported at its first use, until it is
 * forgotten.
 */
#ifndef NN_VULKAN_IMPORT_H
#define NN_VULKAN_IMPORT_H

#include <nnaccel/engine.h>

#include "vulkan/commands.h"

/* Returns the best way to memory that a GPU has, and its name. */
enum nn_device_memory import_way_of(const struct gpu *gpu);
const char *import_way_name(enum nn_device_memory way);

/*
 * Finds the place of an execution's argument in the GPU's memory. The place has no buffer if the
 * memory cannot be imported, or cannot be written and `is_output` is set. That fails if no CPU maps
 * the memory.
 */
enum nn_status import_place(struct gpu *gpu, struct nna_engine_execution *execution, const void *data,
			    bool is_output, struct place *place, struct nn_error *err);

/* Waits until no GPU uses a region any more, and lets go of it. */
void import_forget(const void *base);

#endif /* NN_VULKAN_IMPORT_H */
