/* SPDX-License-Identifier: MIT */
/*
 * Memories: bytes of a file, which are mapped and imported to devices at first use, and memories
 * that were made for certain roles.
 */
#ifndef NN_RUNTIME_MEMORY_H
#define NN_RUNTIME_MEMORY_H

#include <pthread.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/nnaccel.h>

/* A role of a memory: the memory may be input or output `index` of a compilation. */
struct memory_role {
	const ANeuralNetworksCompilation *compilation;	/* the description has a reference */
	uint64_t serial;	/* serial number of the compilation, which is never used again */
	uint32_t index;
	bool output;
	float frequency;		/* how often the role is used, in (0, 1] */
};

/* The additional fields of a memory that was made from a description. */
struct memory_domain {
	/* The type, and the dimensions with which the memory was created. */
	struct nn_operand operand;
	uint32_t num_roles;
	struct memory_role *roles;
	/* Memory of the device that has all roles; NULL for shared memory. */
	struct nna_buffer *buffer;
	struct nna_device *device;	/* device of the buffer; `buffer` keeps it open */
	uint32_t token;			/* token of the buffer in requests to that device */

	/* The memory's lock protects the following fields. */
	bool initialised;
	struct nn_operand current;	/* operand with the dimensions of the current contents */
};

/* A memory imported to one device. A forked child has its own handles of the same devices. */
struct memory_import {
	struct memory_import *next;
	struct nna_device *device;	/* `imported` keeps it open */
	struct nna_memory *imported;
};

struct ANeuralNetworksMemory {
	int fd;	/* file of the memory; -1 without a file, or before it is made */
	int prot;
	size_t offset;
	size_t size;
	struct memory_domain *domain;	/* roles and state; NULL for an ordinary memory */
	/* Hardware buffer; NULL without an AHardwareBuffer. */
	struct memory_hardware *hardware;

	pthread_mutex_t lock;
	uint8_t *base;			/* NULL until mapped */
	bool has_pages;			/* the memory came from pages_alloc() */
	bool is_dmabuf;	/* valid once mapped: accesses must be announced to the exporter */
	struct memory_import *imports;	/* imports, one for each device that uses the memory */
};

/* Makes a memory. The fd belongs to the memory, and is closed if the call fails. */
int memory_create(int fd, int prot, size_t offset, size_t size, ANeuralNetworksMemory **memory,
		  struct nn_error *err);

struct accel_handle;

/*
 * Creates zeroed memory that any device can import. It is a dma-buf of a pool of `device`, or a
 * file if `device` is NULL.
 */
int memory_create_shared(size_t size, struct accel_handle *device, ANeuralNetworksMemory **memory,
			 struct nn_error *err);

/*
 * Creates mapped private memory of this process, which is the fastest to fill. When a device
 * imports it, it becomes a file at the same address. No thread may write to it during the import.
 */
int memory_create_private(size_t size, ANeuralNetworksMemory **memory, struct nn_error *err);

/* Makes a memory from memory that a device allocated for a description. It cannot be mapped. */
int memory_create_on_device(size_t size, struct memory_domain *domain,
			    ANeuralNetworksMemory **memory, struct nn_error *err);

/* Returns whether the memory is a device's own memory. */
static inline bool memory_is_on_device(const ANeuralNetworksMemory *memory)
{
	return memory && memory->domain && memory->domain->buffer;
}

/*
 * Maps the memory for accesses of `prot`. It is mapped at the first call and until it is freed.
 * Returns UNMAPPABLE if mapping fails.
 */
int memory_map(const ANeuralNetworksMemory *memory, int prot, uint8_t **base,
	       struct nn_error *err);

/*
 * Begins an access of kind `prot` by this process. *data are the bytes; for an image, they are the
 * pixels without padding, possibly a copy. For a dma-buf, waits for other drivers' fences and
 * notifies the exporter. Returns UNMAPPABLE if the memory cannot be mapped.
 */
int memory_begin(const ANeuralNetworksMemory *memory, int prot, uint8_t **data,
		 struct nn_error *err);

/*
 * Ends an access; `written` says whether the data changed. Returns UNMAPPABLE if the changed data
 * could not be written back.
 */
int memory_end(const ANeuralNetworksMemory *memory, int prot, bool written, uint8_t *data,
	       struct nn_error *err);

/*
 * Imports the memory to a device for accesses of `prot`. The import is made once for each device.
 * Returns UNMAPPABLE if the device cannot make these accesses.
 */
int memory_import(const ANeuralNetworksMemory *memory, int prot, struct nna_device *device,
		  struct nna_memory **imported, struct nn_error *err);

/* Returns BAD_DATA unless an ordinary memory contains `length` bytes at `offset`. */
int memory_check_range(const ANeuralNetworksMemory *memory, size_t offset, size_t length,
		       struct nn_error *err);

#endif /* NN_RUNTIME_MEMORY_H */
