/* SPDX-License-Identifier: MIT */
/*
 * The slots of a burst: which memory is bound to which. A hash table that the
 * one who executes reads without a lock while others take memories out of it.
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
	pthread_mutex_t lock;		/* of those who change the table */
	struct nna_slot *table;		/* by memory, the next free place after a collision */
	uint32_t size;			/* a power of two, or 0 */
	uint32_t taken;			/* places that hold a memory or did */
	uint32_t count;			/* that hold one */
};

void nna_slots_init(struct nna_slots *slots);
void nna_slots_destroy(struct nna_slots *slots);

/* Find and add are for one thread at a time, and for a memory that lives. */
bool nna_slots_find(const struct nna_slots *slots, const struct nna_memory *memory,
		    uint32_t *slot);
/* False: out of memory. */
bool nna_slots_add(struct nna_slots *slots, const struct nna_memory *memory, uint32_t slot);

/* From any thread. False where the memory has no slot. */
bool nna_slots_remove(struct nna_slots *slots, const struct nna_memory *memory, uint32_t *slot);

#endif /* NN_HAL_SLOTS_H */
