/* SPDX-License-Identifier: MIT */
/*
 * Memory of the executions that run a plan step by step. Blocks that one execution freed serve the
 * next ones, so that those of shapes that were seen before call no allocator.
 */
#ifndef NN_PLAN_HEAP_H
#define NN_PLAN_HEAP_H

#include <stddef.h>

#include "ops/op.h"

/* Belongs to one execution at a time. */
struct heap;

/* Makes the pool of a plan's heaps that no execution uses; NULL if memory runs out. */
struct heaps;

struct heaps *heaps_create(void);
void heaps_free(struct heaps *heaps);	/* NULL is fine */

/* Returns a heap for one execution; NULL if memory runs out. */
struct heap *heaps_get(struct heaps *heaps);

/* Returns a heap whose blocks are all free. Frees blocks that no execution has used for long. */
void heaps_put(struct heaps *heaps, struct heap *heap);

/*
 * Returns the bytes of all heaps. A heap in use counts with the size that it had when its execution
 * began.
 */
uint64_t heaps_bytes(const struct heaps *heaps);

/*
 * Memory aligned to 64 bytes, also for a size of 0; NULL: out of memory. A heap of NULL takes it
 * from the system and keeps nothing.
 */
void *heap_alloc(struct heap *heap, size_t size);

/* Does what heap_alloc() does, for count * size bytes, zeroed. */
void *heap_zeroed(struct heap *heap, size_t count, size_t size);

/* Frees what came from this heap; NULL is fine. */
void heap_free(struct heap *heap, void *memory);

/* Memory that reference kernels take first; heap_settle() lets it grow after a run. */
struct nn_run_memory *heap_scratch(struct heap *heap);
void heap_settle(struct heap *heap);

#endif /* NN_PLAN_HEAP_H */
