/* SPDX-License-Identifier: MIT */
/*
 * Memory of executions that interpret a plan. Later executions reuse the blocks that earlier ones
 * freed, so executions with the same shapes do not call the system's allocator.
 */
#ifndef NN_PLAN_HEAP_H
#define NN_PLAN_HEAP_H

#include <stddef.h>

#include "ops/op.h"

/* Only one execution at a time uses a heap. */
struct heap;

/* A plan's pool of heaps that no execution uses. heaps_create() returns NULL if memory runs out. */
struct heaps;

struct heaps *heaps_create(void);
void heaps_free(struct heaps *heaps);	/* NULL is fine */

/* Returns a heap for one execution; NULL if memory runs out. */
struct heap *heaps_get(struct heaps *heaps);

/*
 * Gives a heap back, whose blocks are all free. Frees blocks that were unused in many executions.
 */
void heaps_put(struct heaps *heaps, struct heap *heap);

/* Returns the bytes of all heaps. For a heap in use, this is its size when the execution began. */
uint64_t heaps_bytes(const struct heaps *heaps);

/*
 * Returns memory aligned to 64 bytes, even for a size of 0; NULL if memory runs out. If `heap` is
 * NULL, the memory comes directly from the system.
 */
void *heap_alloc(struct heap *heap, size_t size);

/* Does what heap_alloc() does, for count * size bytes, which are zeroed. */
void *heap_zeroed(struct heap *heap, size_t count, size_t size);

/* Frees memory that came from this heap; NULL is fine. */
void heap_free(struct heap *heap, void *memory);

/*
 * Memory that reference kernels use before they call malloc(). heap_settle() enlarges it after a
 * run.
 */
struct nn_run_memory *heap_scratch(struct heap *heap);
void heap_settle(struct heap *heap);

#endif /* NN_PLAN_HEAP_H */
