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

/* A role of a memory: the memory may be the compilation's input or output number `index`. */
struct memory_role {
	/* the role's compilation; a memory description holds a reference to it */
	const ANeuralNetworksCompilation *compilation;
	uint64_t serial;		/* unique serial number of the compilation */
	uint32_t index;
	bool output;
	float frequency;		/* how often the role is used, in (0, 1] */
};

/* Additional fields of a memory that was made from a memory description. */
struct memory_domain {
	/* Type of the memory's operand, and the dimensions with which the memory was created. */
	struct nn_operand operand;
	uint32_t num_roles;
	struct memory_role *roles;
	/* Memory of the single device that computes the operands of all roles, or NULL. */
	struct nna_buffer *buffer;
	struct nna_device *device;	/* device of `buffer`, which keeps the device open */
	uint32_t token;			/* token that names `buffer` in requests to `device` */

	/* The memory's lock protects `initialised` and `current`. */
	bool initialised;
	struct nn_operand current;	/* `operand` with the dimensions of the current contents */
};

/* A memory imported to one device. A forked child opens devices and imports memories itself. */
struct memory_import {
	struct memory_import *next;
	struct nna_device *device;	/* device, which `imported` keeps open */
	struct nna_memory *imported;
};

struct ANeuralNetworksMemory {
	int fd;	/* file of the memory, or -1 if the memory has no file yet or never */
	int prot;
	size_t offset;
	size_t size;
	struct memory_domain *domain;	/* roles and state; NULL for an ordinary memory */
	/* Fields of a memory that was made from an AHardwareBuffer; NULL for other memories. */
	struct memory_hardware *hardware;

	pthread_mutex_t lock;
	uint8_t *base;			/* NULL until mapped */
	bool has_pages;			/* true: `base` came from pages_alloc() */
	/*
	 * true: the dma-buf's exporter must be notified of accesses; set when the memory is
	 * mapped
	 */
	bool is_dmabuf;
	struct memory_import *imports;	/* imports, one for each device that uses the memory */
};

/*
 * Makes a memory, which then owns the file descriptor `fd`. If memory_create() fails, it closes
 * `fd`.
 */
int memory_create(int fd, int prot, size_t offset, size_t size, ANeuralNetworksMemory **memory,
		  struct nn_error *err);

struct accel_handle;

/*
 * Creates zeroed memory that any device can import. The memory is a dma-buf from a memory pool of
 * `device`, or a file if `device` is NULL or has no memory left.
 */
int memory_create_shared(size_t size, struct accel_handle *device, ANeuralNetworksMemory **memory,
			 struct nn_error *err);

/*
 * Creates mapped private memory of this process, which is the fastest kind to fill. When a device
 * imports private memory, a file replaces the memory at the same address. No thread may write to
 * private memory while a device imports the memory.
 */
int memory_create_private(size_t size, ANeuralNetworksMemory **memory, struct nn_error *err);

/*
 * Makes a memory object, which cannot be mapped, for memory that a device allocated for a memory
 * description.
 */
int memory_create_on_device(size_t size, struct memory_domain *domain,
			    ANeuralNetworksMemory **memory, struct nn_error *err);

static inline bool memory_is_on_device(const ANeuralNetworksMemory *memory)
{
	return memory && memory->domain && memory->domain->buffer;
}

/*
 * Maps the memory for accesses of `prot`. The first call maps the memory, which then stays mapped
 * until the memory is freed. Returns UNMAPPABLE if mapping fails.
 */
int memory_map(const ANeuralNetworksMemory *memory, int prot, uint8_t **base,
	       struct nn_error *err);

/*
 * Begins an access of this process to the memory, for reading or writing as `prot` says. Sets *data
 * to the memory's bytes; for an image, *data are the pixels without padding, possibly a copy. For a
 * dma-buf, waits for other drivers' fences and notifies the exporter. Returns UNMAPPABLE if the
 * memory cannot be mapped.
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
 * Imports the memory to a device for accesses of `prot`; later calls for the device return the same
 * import. Returns UNMAPPABLE if the device cannot access the memory as `prot` says.
 */
int memory_import(const ANeuralNetworksMemory *memory, int prot, struct nna_device *device,
		  struct nna_memory **imported, struct nn_error *err);

/* Returns BAD_DATA unless an ordinary memory contains `length` bytes at `offset`. */
int memory_check_range(const ANeuralNetworksMemory *memory, size_t offset, size_t length,
		       struct nn_error *err);

#endif /* NN_RUNTIME_MEMORY_H */
