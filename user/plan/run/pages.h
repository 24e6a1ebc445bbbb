/* SPDX-License-Identifier: MIT */
/*
 * Large blocks of memory, in huge pages if the system provides these.
 */
#ifndef NN_PLAN_PAGES_H
#define NN_PLAN_PAGES_H

#include <stddef.h>

/* Returns zeroed memory, aligned to at least 64 bytes; NULL if memory runs out. */
void *pages_alloc(size_t size);

/*
 * Does what pages_alloc() does, but allocates all pages in one call, not at the first access to
 * each: for memory that is written as a whole at once.
 */
void *pages_alloc_all(size_t size);
void pages_free(void *memory, size_t size);

/* Returns read-only zeros, which use no memory. pages_free() frees them too. */
void *pages_zeros(size_t size);

#endif /* NN_PLAN_PAGES_H */
