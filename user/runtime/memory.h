/* SPDX-License-Identifier: MIT */
/*
 * Memories: bytes of a file descriptor, mapped and handed to devices when first
 * needed, and memories that were made for certain roles.
 */
#ifndef NN_RUNTIME_MEMORY_H
#define NN_RUNTIME_MEMORY_H

#include <pthread.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/nnaccel.h>

/* A role of a memory: it may be input or output `index` of a compilation. */
struct memory_role {
	const ANeuralNetworksCompilation *compilation;	/* the description has a reference */
	uint64_t serial;	/* serial number of the compilation, which is never used again */
	uint32_t index;
	bool output;
	float frequency;		/* performance of its executions, in (0, 1] */
};

/* The additional fields of a memory that was made from a description. */
struct memory_domain {
	/* The type, and the dimensions that were given at the creation. */
	struct nn_operand operand;
	uint32_t num_roles;
	struct memory_role *roles;
	/* Memory of the device that has its roles; NULL for shared memory. */
	struct nna_buffer *buffer;
	struct nna_device *device;	/* device of the buffer, which keeps it open */
	uint32_t token;			/* token of the buffer in requests to that device */

	/* The fields below are protected by the memory's lock. */
	bool initialised;
	struct nn_operand current;	/* operand with the dimensions of the current contents */
};

/* A memory imported to one device. A forked child has its own handles of the same devices. */
struct memory_import {
	struct memory_import *next;
	struct nna_device *device;	/* `imported` keeps it */
	struct nna_memory *imported;
};

struct ANeuralNetworksMemory {
	int fd;	/* file of the memory; -1 if there is no file, or none yet */
	int prot;
	size_t offset;
	size_t size;
	struct memory_domain *domain;	/* roles and state; NULL for an ordinary memory */
	/* Hardware buffer; NULL without an AHardwareBuffer. */
	struct memory_hardware *hardware;

	pthread_mutex_t lock;
	uint8_t *base;			/* NULL until mapped */
	bool has_pages;			/* the memory came from pages_alloc() */
	bool is_dmabuf;	/* known once mapped: the exporter must be notified of accesses */
	struct memory_import *imports;	/* the memory's imports, one for each device that uses it */
};

/* Makes a memory. Takes over the fd, also if it fails. */
int memory_create(int fd, int prot, size_t offset, size_t size, ANeuralNetworksMemory **memory,
		  struct nn_error *err);

struct accel_handle;

/*
 * Creates zeroed memory that any device can import. It is a dma-buf of a pool of `device`, or a file
 * if that is NULL.
 */
int memory_create_shared(size_t size, struct accel_handle *device, ANeuralNetworksMemory **memory,
			 struct nn_error *err);

/*
 * Creates mapped memory of this process alone, which is the fastest to fill. When a device imports
 * it, it becomes a file at the same address. No thread may write meanwhile.
 */
int memory_create_private(size_t size, ANeuralNetworksMemory **memory, struct nn_error *err);

/* Takes over memory that a device allocated for a description. The memory cannot be mapped. */
int memory_create_on_device(size_t size, struct memory_domain *domain,
			    ANeuralNetworksMemory **memory, struct nn_error *err);

/* Returns whether the memory is a device's. */
static inline bool memory_is_on_device(const ANeuralNetworksMemory *memory)
{
	return memory && memory->domain && memory->domain->buffer;
}

/*
 * Maps the memory for the accesses of `prot`, once, until it is freed. Returns UNMAPPABLE if
 * that is not possible.
 */
int memory_map(const ANeuralNetworksMemory *memory, int prot, uint8_t **base,
	       struct nn_error *err);

/*
 * Begins an access of this process, of `prot`. *data are the bytes, or the pixels of an image
 * without padding, which may be a copy. If it is a dma-buf, waits for other drivers' fences and
 * notifies its exporter. Returns UNMAPPABLE if the memory cannot be mapped.
 */
int memory_begin(const ANeuralNetworksMemory *memory, int prot, uint8_t **data,
		 struct nn_error *err);

/*
 * Ends an access; `written` says that the data changed. Returns UNMAPPABLE if the changed data
 * could not be written back.
 */
int memory_end(const ANeuralNetworksMemory *memory, int prot, bool written, uint8_t *data,
	       struct nn_error *err);

/*
 * Imports the memory to a device for the accesses of `prot`, once for each device. Returns
 * UNMAPPABLE if the device cannot access the memory in this way.
 */
int memory_import(const ANeuralNetworksMemory *memory, int prot, struct nna_device *device,
		  struct nna_memory **imported, struct nn_error *err);

/* Returns BAD_DATA unless `length` bytes at `offset` lie in an ordinary memory. */
int memory_check_range(const ANeuralNetworksMemory *memory, size_t offset, size_t length,
		       struct nn_error *err);

#endif /* NN_RUNTIME_MEMORY_H */
