/* SPDX-License-Identifier: MIT */
/*
 * A burst's table of slots (user/hal/slots.c), which the one who executes reads without a lock and
 * any order: a memory is taken out and freed, and another is made at the same address. What malloc
 * and free do under their lock is enough for the old place not to be found.
 */
#define THREADS 2
#define WORDS 2
#define STORES 3
#include "memory.h"

#define PLACE 0		/* the address, or REMOVED */
#define HEAP 1		/* whether the address is free */

#define ADDRESS 1
#define REMOVED 2

active proctype remover()
{
	store(0, PLACE, ADDRESS, RELAXED);
	/* nna_memory_free() */
#ifdef WITHOUT_REMOVAL_FIRST
	lock(0);
	store(0, HEAP, 1, RELAXED);
	unlock(0);
	store(0, PLACE, REMOVED, RELAXED)
#else
	store(0, PLACE, REMOVED, RELAXED);
#ifdef WITHOUT_HEAP_LOCK
	store(0, HEAP, 1, RELAXED)
#else
	lock(0);
	store(0, HEAP, 1, RELAXED);
	unlock(0)
#endif
#endif
}

active proctype executor()
{
	byte free, place;

	lock(1);
	load(1, HEAP, RELAXED, free);
	unlock(1);
	if
	:: free ->
		load(1, PLACE, RELAXED, place);
		assert(place == REMOVED)
	:: else
	fi
}
