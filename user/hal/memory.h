/* SPDX-License-Identifier: MIT */
/* Memory that the device can access: a pool of the kernel, or a part of a pool. */
#ifndef NN_HAL_MEMORY_H
#define NN_HAL_MEMORY_H

#include "device.h"

struct nna_memory {
	struct nna_device *device;
	atomic_uint users;	/* number of references: the handle, and each execution in flight */
	uint32_t pool;
	bool is_imported;
	int prot;			/* of <sys/mman.h> */
	atomic_bool has_slots;		/* true: the memory may be in the slots of a burst */
	uint64_t offset;		/* offset of the memory's first byte in the pool */
	uint64_t size;
	/*
	 * true if the memory is an image, which arguments use only as a whole; `size` is the size
	 * of all rows
	 */
	bool is_formatted;

	pthread_mutex_t map_lock;
	void *map;			/* mapping of the whole pool, or NULL */
};

struct nna_memory *nna_memory_get(struct nna_memory *memory);
void nna_memory_put(struct nna_memory *memory);

/*
 * Takes a reference to each memory of a list. If a memory is NULL or of another device, returns
 * NN_INVALID_ARGUMENT and takes no reference.
 */
enum nn_status nna_memories_hold(const struct nna_device *device, const char *call,
				 struct nna_memory *const *memories, uint32_t count,
				 struct nn_error *err);
void nna_memories_release(struct nna_memory *const *memories, uint32_t count);

#endif /* NN_HAL_MEMORY_H */
