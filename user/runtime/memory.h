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

/* A use that a memory was made for: input or output `index` of a compilation. */
struct memory_role {
	const ANeuralNetworksCompilation *compilation;	/* held by the description */
	uint64_t serial;		/* the compilation's: no other ever has it */
	uint32_t index;
	bool output;
	float frequency;		/* in (0, 1], of its executions */
};

/* The further fields of a memory that was made from a description. */
struct memory_domain {
	struct nn_operand operand;	/* type, and the dimensions that it was made with */
	uint32_t num_roles;
	struct memory_role *roles;
	struct nna_buffer *buffer;	/* of the device that has its roles; NULL: shared memory */
	struct nna_device *device;	/* that one; the buffer keeps it */
	uint32_t token;			/* stands for it in requests to that device */

	/* Under the memory's lock. */
	bool initialised;
	struct nn_operand current;	/* with the dimensions of what was written last */
};

/* A memory as one device reaches it. A forked child has other handles of the same devices. */
struct memory_import {
	struct memory_import *next;
	struct nna_device *device;	/* `imported` keeps it */
	struct nna_memory *imported;
};

struct ANeuralNetworksMemory {
	int fd;				/* -1: it has none, or none yet */
	int prot;
	size_t offset;
	size_t size;
	struct memory_domain *domain;	/* NULL: an ordinary memory */
	struct memory_hardware *hardware;	/* NULL: not of an AHardwareBuffer */

	pthread_mutex_t lock;
	uint8_t *base;			/* NULL until mapped */
	bool has_pages;			/* that is of pages_alloc() */
	bool is_dmabuf;			/* once mapped: its exporter must be notified of accesses */
	struct memory_import *imports;	/* of the devices that needed it */
};

/* Takes the fd over, in failure too. */
int memory_create(int fd, int prot, size_t offset, size_t size, ANeuralNetworksMemory **memory,
		  struct nn_error *err);

/* Memory of the runtime's own; zeroed. */
int memory_create_shared(size_t size, ANeuralNetworksMemory **memory, struct nn_error *err);

/*
 * Creates mapped memory of this process alone, which is the fastest to fill. When a device imports
 * it, it becomes a file at the same address. No thread may write meanwhile.
 */
int memory_create_private(size_t size, ANeuralNetworksMemory **memory, struct nn_error *err);

/* Takes over memory that a device allocated for a description. It cannot be mapped. */
int memory_create_on_device(size_t size, struct memory_domain *domain,
			    ANeuralNetworksMemory **memory, struct nn_error *err);

/* True for memory of a device. */
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

/* Ends it; `written`: the data are new. UNMAPPABLE: they did not get there. */
int memory_end(const ANeuralNetworksMemory *memory, int prot, bool written, uint8_t *data,
	       struct nn_error *err);

/*
 * The memory as the device reaches it, for the accesses of `prot`; UNMAPPABLE where it does
 * not, or not for those. Made once for each device, too.
 */
int memory_import(const ANeuralNetworksMemory *memory, int prot, struct nna_device *device,
		  struct nna_memory **imported, struct nn_error *err);

/* BAD_DATA unless `length` bytes at `offset` lie in an ordinary memory. */
int memory_check_range(const ANeuralNetworksMemory *memory, size_t offset, size_t length,
		       struct nn_error *err);

#endif /* NN_RUNTIME_MEMORY_H */
