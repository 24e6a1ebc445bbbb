/* SPDX-License-Identifier: MIT */
/*
 * The slots of a burst: a hash table of the memories that are bound to slots. The executing thread
 * reads the table without a lock while other threads remove memories.
 */
#ifndef NN_HAL_SLOTS_H
#define NN_HAL_SLOTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct nna_memory;

struct nna_slot {
	_Atomic(const struct nna_memory *) memory;
	uint32_t slot;
};

struct nna_slots {
	pthread_mutex_t lock;		/* lock, held by a thread that changes the table */
	/*
	 * Hash table of slots. The hash of a slot's memory determines the slot's entry; if another
	 * slot uses this entry, the slot is in the next free entry.
	 */
	struct nna_slot *table;
	uint32_t size;			/* size of the table: a power of two, or 0 */
	uint32_t taken;			/* number of entries that hold or have held a memory */
	uint32_t count;			/* number of entries that hold a memory */
};

void nna_slots_init(struct nna_slots *slots);
void nna_slots_destroy(struct nna_slots *slots);

/*
 * Finds the slot of a memory. Only one thread at a time may find or add slots, and `memory` must
 * exist during the call.
 */
bool nna_slots_find(const struct nna_slots *slots, const struct nna_memory *memory,
		    uint32_t *slot);
/* Adds a memory; returns false if memory runs out. */
bool nna_slots_add(struct nna_slots *slots, const struct nna_memory *memory, uint32_t slot);

/*
 * Removes a memory, and sets *slot to its slot. Any thread may call nna_slots_remove(). Returns
 * false if the memory has no slot.
 */
bool nna_slots_remove(struct nna_slots *slots, const struct nna_memory *memory, uint32_t *slot);

#endif /* NN_HAL_SLOTS_H */
