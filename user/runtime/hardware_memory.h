/* SPDX-License-Identifier: MIT */
/*
 * Memories made from an AHardwareBuffer: plain bytes (BLOB), or an image, which can only be used
 * whole and as an argument of executions.
 */
#ifndef NN_RUNTIME_HARDWARE_MEMORY_H
#define NN_RUNTIME_HARDWARE_MEMORY_H

#include <nnaccel/hardware_buffer.h>

#include "runtime/memory.h"

/* Additional fields of a memory that was made from a hardware buffer. */
struct memory_hardware {
	AHardwareBuffer *buffer;
	bool is_image;
	struct nna_hardware_layout layout;
};

/* NULL is fine. */
void hardware_free(struct memory_hardware *hardware);

static inline bool memory_is_image(const ANeuralNetworksMemory *memory)
{
	return memory->hardware && memory->hardware->is_image;
}

/* Imports the memory to a device, for memory_import(), which holds the memory's lock. */
enum nn_status hardware_import(const ANeuralNetworksMemory *memory, struct nna_device *device,
			       struct nna_memory **imported, struct nn_error *err);

/* Begin and end an access to an image, for memory_begin() and memory_end(). */
int hardware_begin(const ANeuralNetworksMemory *memory, bool write, uint8_t **data,
		   struct nn_error *err);
int hardware_end(const ANeuralNetworksMemory *memory, bool written, uint8_t *data,
		 struct nn_error *err);

#endif /* NN_RUNTIME_HARDWARE_MEMORY_H */
