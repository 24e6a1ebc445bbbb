/* SPDX-License-Identifier: MIT */
/*
 * Large blocks of memory, in huge pages if the system has huge pages.
 */
#ifndef NN_PLAN_PAGES_H
#define NN_PLAN_PAGES_H

#include <stddef.h>

/* Returns zeroed memory, aligned to at least 64 bytes; NULL if memory runs out. */
void *pages_alloc(size_t size);

/*
 * Returns zeroed memory like pages_alloc(), but also allocates all its pages at once, for memory
 * that is soon written as a whole.
 */
void *pages_alloc_all(size_t size);
void pages_free(void *memory, size_t size);

/* Returns read-only zeros, which occupy no memory; pages_free() frees the zeros. */
void *pages_zeros(size_t size);

#endif /* NN_PLAN_PAGES_H */
