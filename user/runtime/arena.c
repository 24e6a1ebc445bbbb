/* SPDX-License-Identifier: MIT */
/*
 * An arena: memory that is allocated piece by piece and freed as a whole.
 */
#include "runtime/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *next;
	alignas(max_align_t) unsigned char data[];
};

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
	struct arena_block *block;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*block), &bytes))
		return NULL;
	block = calloc(1, bytes);
	if (!block)
		return NULL;
	block->next = arena->blocks;
	arena->blocks = block;
	return block->data;
}

void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size)
{
	void *to = arena_alloc(arena, count, size);

	if (to && count)
		memcpy(to, from, count * size);
	return to;
}

void arena_free(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;

		arena->blocks = block->next;
		free(block);
	}
}
