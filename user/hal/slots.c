/* SPDX-License-Identifier: MIT */
/* The slots of a burst: a hash table of the memories that are bound to slots. */
#include "slots.h"

#include <stdlib.h>

#define FIRST_SIZE 16

/* Marks a table entry whose memory was removed, so that searches continue beyond the entry. */
static const char removed_place;
#define REMOVED ((const struct nna_memory *)&removed_place)

void nna_slots_init(struct nna_slots *slots)
{
	*slots = (struct nna_slots){ .table = NULL };
	pthread_mutex_init(&slots->lock, NULL);
}

void nna_slots_destroy(struct nna_slots *slots)
{
	free(slots->table);
	pthread_mutex_destroy(&slots->lock);
}

/*
 * Returns the memory's entry in the table of slots, or the free entry that ends the search. The
 * table of slots always has a free entry.
 */
static struct nna_slot *search(const struct nna_slots *slots, const struct nna_memory *memory)
{
	uint32_t mask = slots->size - 1;
	uint32_t i = (uint32_t)(((uintptr_t)memory >> 4) * 0x9e3779b1u >> 7) & mask;
	const struct nna_memory *found;

	for (;; i = (i + 1) & mask) {
		found = atomic_load_explicit(&slots->table[i].memory, memory_order_relaxed);
		if (found == memory || !found)
			return &slots->table[i];
	}
}

static struct nna_slot *find(const struct nna_slots *slots, const struct nna_memory *memory)
{
	struct nna_slot *place = slots->size ? search(slots, memory) : NULL;

	return place && atomic_load_explicit(&place->memory, memory_order_relaxed) ? place : NULL;
}

bool nna_slots_find(const struct nna_slots *slots, const struct nna_memory *memory,
		    uint32_t *slot)
{
	const struct nna_slot *place = find(slots, memory);

	if (place)
		*slot = place->slot;
	return place;
}

/* Adds a memory to the table; the caller holds the lock. */
static void insert(struct nna_slots *slots, const struct nna_memory *memory, uint32_t slot)
{
	struct nna_slot *place = search(slots, memory);

	place->slot = slot;
	atomic_store_explicit(&place->memory, memory, memory_order_relaxed);
	slots->taken++;
	slots->count++;
}

/* Enlarges the table so that at most half of its entries are used; the caller holds the lock. */
static bool make_room(struct nna_slots *slots)
{
	struct nna_slots bigger = { .size = FIRST_SIZE };
	uint32_t i;

	if (2 * (slots->taken + 1) <= slots->size)
		return true;
	while (bigger.size < 4 * (slots->count + 1))
		bigger.size *= 2;
	bigger.table = calloc(bigger.size, sizeof(*bigger.table));
	if (!bigger.table)
		return false;
	for (i = 0; i < slots->size; i++) {
		const struct nna_memory *memory = slots->table[i].memory;

		if (memory && memory != REMOVED)
			insert(&bigger, memory, slots->table[i].slot);
	}
	free(slots->table);
	slots->table = bigger.table;
	slots->size = bigger.size;
	slots->taken = slots->count;
	return true;
}

bool nna_slots_add(struct nna_slots *slots, const struct nna_memory *memory, uint32_t slot)
{
	bool added;

	pthread_mutex_lock(&slots->lock);
	added = make_room(slots);
	if (added)
		insert(slots, memory, slot);
	pthread_mutex_unlock(&slots->lock);
	return added;
}

bool nna_slots_remove(struct nna_slots *slots, const struct nna_memory *memory, uint32_t *slot)
{
	struct nna_slot *place;

	pthread_mutex_lock(&slots->lock);
	place = find(slots, memory);
	if (place) {
		*slot = place->slot;
		atomic_store_explicit(&place->memory, REMOVED, memory_order_relaxed);
		slots->count--;
	}
	pthread_mutex_unlock(&slots->lock);
	return place;
}
