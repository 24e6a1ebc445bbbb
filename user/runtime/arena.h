/* SPDX-License-Identifier: MIT */
/*
 * Memory that is allocated piece by piece and freed as a whole, for the arrays of models, plans and
 * steps.
 */
#ifndef NN_RUNTIME_ARENA_H
#define NN_RUNTIME_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zeroed before use. */
struct arena {
	struct arena_block *blocks;
};

/* count * size zeroed bytes, never NULL for none; NULL when there is no memory. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);

/* A copy of count * size bytes. */
void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size);

void arena_free(struct arena *arena);

#endif /* NN_RUNTIME_ARENA_H */
