/* SPDX-License-Identifier: MIT */
/*
 * Imports clients' memory as buffers of the GPU, without a copy. A region of memory is imported at
 * its first use, and stays imported until import_forget().
 */
#ifndef NN_VULKAN_IMPORT_H
#define NN_VULKAN_IMPORT_H

#include <nnaccel/engine.h>

#include "vulkan/commands.h"

/*
 * The function import_way_of() returns the best way in which a GPU can access clients' memory, and
 * import_way_name() the name of a way.
 */
enum nn_device_memory import_way_of(const struct gpu *gpu);
const char *import_way_name(enum nn_device_memory way);

/*
 * Finds the place of an execution's argument in imported memory. The place has no buffer
 * (VK_NULL_HANDLE) if the memory cannot be imported, or if the memory is read-only and `is_output`
 * is set. If the place has no buffer and the CPU cannot map the memory, import_place() fails.
 */
enum nn_status import_place(struct gpu *gpu, struct nna_engine_execution *execution, const void *data,
			    bool is_output, struct place *place, struct nn_error *err);

/* Waits until no GPU uses the region at `base`, and ends the region's imports. */
void import_forget(const void *base);

#endif /* NN_VULKAN_IMPORT_H */
