/* SPDX-License-Identifier: MIT */
/*
 * Memory for the arrays of models, plans and steps. Each array of an arena is allocated separately,
 * and all arrays are freed together.
 */
#ifndef NN_RUNTIME_ARENA_H
#define NN_RUNTIME_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zeroed before use. */
struct arena {
	struct arena_block *blocks;
};

/* Returns count * size zeroed bytes; NULL only if memory runs out, not for a size of 0. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);

/* Returns a copy of count * size bytes. */
void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size);

void arena_free(struct arena *arena);

#endif /* NN_RUNTIME_ARENA_H */
