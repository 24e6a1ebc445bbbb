/* SPDX-License-Identifier: MIT */
/*
 * Memory for executions that interpret a plan. An execution reuses blocks that earlier executions
 * freed, so executions with the same shapes do not call the system's allocator.
 */
#ifndef NN_PLAN_HEAP_H
#define NN_PLAN_HEAP_H

#include <stddef.h>

#include "ops/op.h"

/* Only one execution at a time uses a heap. */
struct heap;

/*
 * The idle heaps of a plan, which no execution uses. heaps_create() returns NULL if memory runs
 * out.
 */
struct heaps;

struct heaps *heaps_create(void);
void heaps_free(struct heaps *heaps);	/* NULL is fine */

/* Returns a heap for one execution, or NULL if memory runs out. */
struct heap *heaps_get(struct heaps *heaps);

/*
 * Returns a heap to the idle heaps; all blocks of the heap must be free. heaps_put() also frees
 * blocks that were unused in many executions.
 */
void heaps_put(struct heaps *heaps, struct heap *heap);

/*
 * Returns the total size of all heaps in bytes. For a heap in use, the total includes the heap's
 * size at the beginning of the execution.
 */
uint64_t heaps_bytes(const struct heaps *heaps);

/*
 * Returns memory aligned to 64 bytes, even for size 0; NULL if memory runs out. If `heap` is NULL,
 * the memory comes directly from the system.
 */
void *heap_alloc(struct heap *heap, size_t size);

/* Allocates count * size zeroed bytes like heap_alloc(). */
void *heap_zeroed(struct heap *heap, size_t count, size_t size);

/* Frees memory that was allocated from `heap`; NULL is allowed. */
void heap_free(struct heap *heap, void *memory);

/*
 * Returns memory that reference kernels use before they call malloc(). heap_settle() enlarges this
 * memory after an execution.
 */
struct nn_run_memory *heap_scratch(struct heap *heap);
void heap_settle(struct heap *heap);

#endif /* NN_PLAN_HEAP_H */
