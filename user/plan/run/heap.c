/* SPDX-License-Identifier: MIT */
/*
 * Free blocks are in lists by size class; there are four classes for each power of two. A struct
 * block, which has the size class, precedes the memory of each block.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "plan/run/heap.h"
#include "plan/run/pages.h"

#define ALIGNMENT 64	/* alignment of blocks, for cache lines and the widest vectors */
#define CLASSES (4 * 64)

/* Blocks that were unused in TRIM_EXECUTIONS executions are returned to the system. */
#define TRIM_EXECUTIONS 64

/*
 * With AddressSanitizer, the system allocates each block, so that accesses outside of a block are
 * detected.
 */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_BLOCKS 0
#endif
#endif
#ifndef KEEPS_BLOCKS
#define KEEPS_BLOCKS 1
#endif

struct block {
	_Alignas(ALIGNMENT) struct block *next;	/* next free block, while this block is free */
	uint32_t class;
};

/*
 * Maximum number of idle heaps. If more than HEAPS executions run concurrently, the additional
 * executions begin with empty heaps.
 */
#define HEAPS 8

struct heaps {
	_Atomic(struct heap *) idle[HEAPS];
	_Atomic(uint64_t) bytes; /* bytes of all heaps when heaps_put() was last called */
};

struct heap {
	struct block *free[CLASSES];
	uint32_t count[CLASSES];	/* number of free blocks of each class */
	/* smallest value of `count` since the last call of trim() */
	uint32_t spare[CLASSES];
	uint32_t executions;		/* number of executions since the last call of trim() */
	uint64_t bytes;			/* total size of the heap's blocks */
	uint64_t counted;		/* this heap's share of heaps->bytes */
	struct nn_run_memory scratch;
};

static uint32_t class_of(size_t size)
{
	uint32_t top;

	size = size > 4 * ALIGNMENT ? size - 1 : 4 * ALIGNMENT - 1;
	top = 63 - (uint32_t)__builtin_clzll(size);
	return 4 * top + (uint32_t)(size >> (top - 2) & 3);
}

/* Returns the largest block size of a class, a multiple of ALIGNMENT. */
static size_t class_size(uint32_t class)
{
	return ((size_t)4 + class % 4 + 1) << (class / 4 - 2);
}

void *heap_alloc(struct heap *heap, size_t size)
{
	struct block *b;
	uint32_t class;

	if (!heap || !KEEPS_BLOCKS)
		return aligned_alloc(ALIGNMENT, size ? round_up(size, ALIGNMENT) : ALIGNMENT);
	class = class_of(size);
	b = heap->free[class];
	if (b) {
		heap->free[class] = b->next;
		heap->count[class]--;
		if (heap->spare[class] > heap->count[class])
			heap->spare[class] = heap->count[class];
	} else {
		b = aligned_alloc(ALIGNMENT, sizeof(*b) + class_size(class));
		if (!b)
			return NULL;
		b->class = class;
		heap->bytes += sizeof(*b) + class_size(class);
	}
	return b + 1;
}

void *heap_zeroed(struct heap *heap, size_t count, size_t size)
{
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	memory = heap_alloc(heap, bytes);
	return memory ? memset(memory, 0, bytes) : NULL;
}

void heap_free(struct heap *heap, void *memory)
{
	struct block *b = memory;

	if (!heap || !KEEPS_BLOCKS) {
		free(memory);
		return;
	}
	if (!b)
		return;
	b--;
	b->next = heap->free[b->class];
	heap->free[b->class] = b;
	heap->count[b->class]++;
}

struct nn_run_memory *heap_scratch(struct heap *heap)
{
	return &heap->scratch;
}

void heap_settle(struct heap *heap)
{
	struct nn_run_memory *m = &heap->scratch;

	if (!KEEPS_BLOCKS || m->wanted <= m->size)
		return;
	pages_free(m->base, m->size);
	m->base = pages_alloc(m->wanted);
	m->size = m->base ? m->wanted : 0;
}

/* Frees the blocks that no execution has used since the last call of trim(). */
static void trim(struct heap *heap)
{
	for (uint32_t class = 0; class < CLASSES; class++) {
		while (heap->spare[class]) {
			struct block *b = heap->free[class];

			heap->free[class] = b->next;
			heap->count[class]--;
			heap->spare[class]--;
			heap->bytes -= sizeof(*b) + class_size(class);
			free(b);
		}
		heap->spare[class] = heap->count[class];
	}
	heap->executions = 0;
}

static void heap_destroy(struct heap *heap)
{
	if (!heap)
		return;
	/* The second trim() frees all blocks, because no block was used since the first trim(). */
	trim(heap);
	trim(heap);
	pages_free(heap->scratch.base, heap->scratch.size);
	free(heap);
}

struct heaps *heaps_create(void)
{
	return calloc(1, sizeof(struct heaps));
}

void heaps_free(struct heaps *heaps)
{
	for (uint32_t i = 0; heaps && i < HEAPS; i++)
		heap_destroy(atomic_load(&heaps->idle[i]));
	free(heaps);
}

struct heap *heaps_get(struct heaps *heaps)
{
	for (uint32_t i = 0; i < HEAPS; i++) {
		struct heap *heap = atomic_exchange(&heaps->idle[i], NULL);

		if (heap)
			return heap;
	}
	return calloc(1, sizeof(struct heap));
}

/* Updates the bytes that a heap contributes to heaps->bytes. */
static void count_bytes(struct heaps *heaps, struct heap *heap, uint64_t bytes)
{
	if (heap->counted != bytes)
		atomic_fetch_add(&heaps->bytes, bytes - heap->counted);
	heap->counted = bytes;
}

uint64_t heaps_bytes(const struct heaps *heaps)
{
	return atomic_load(&heaps->bytes);
}

void heaps_put(struct heaps *heaps, struct heap *heap)
{
	if (++heap->executions == TRIM_EXECUTIONS)
		trim(heap);
	count_bytes(heaps, heap, heap->bytes + heap->scratch.size);
	for (uint32_t i = 0; i < HEAPS; i++) {
		struct heap *none = NULL;

		if (atomic_compare_exchange_strong(&heaps->idle[i], &none, heap))
			return;
	}
	count_bytes(heaps, heap, 0);
	heap_destroy(heap);
}

