/* SPDX-License-Identifier: MIT */
/*
 * The slots of a burst: a hash table of the memories bound to them. The executing thread reads the
 * table without a lock while other threads remove memories.
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
	pthread_mutex_t lock;		/* held while the table is changed */
	/* Slots, hashed by memory; after a collision a slot is in the next free place. */
	struct nna_slot *table;
	uint32_t size;			/* a power of two, or 0 */
	uint32_t taken;			/* number of places that hold or have held a memory */
	uint32_t count;			/* number of places that hold a memory */
};

void nna_slots_init(struct nna_slots *slots);
void nna_slots_destroy(struct nna_slots *slots);

/*
 * Finds the slot of a memory. Only one thread at a time may find or add slots; the memory must
 * exist.
 */
bool nna_slots_find(const struct nna_slots *slots, const struct nna_memory *memory,
		    uint32_t *slot);
/* Adds a memory; returns false if memory runs out. */
bool nna_slots_add(struct nna_slots *slots, const struct nna_memory *memory, uint32_t slot);

/* Removes a memory; any thread may call it. Returns false if the memory has no slot. */
bool nna_slots_remove(struct nna_slots *slots, const struct nna_memory *memory, uint32_t *slot);

#endif /* NN_HAL_SLOTS_H */
