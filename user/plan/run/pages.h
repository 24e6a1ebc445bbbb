/* SPDX-License-Identifier: MIT */
/*
 * Large blocks of memory, of huge pages if the system provides them.
 */
#ifndef NN_PLAN_PAGES_H
#define NN_PLAN_PAGES_H

#include <stddef.h>

/* Zeroed memory, aligned to 64 bytes at least; NULL: out of memory. */
void *pages_alloc(size_t size);

/*
 * Does what pages_alloc() does, for what is written as a whole at once: all pages in one call, not
 * one by one.
 */
void *pages_alloc_all(size_t size);
void pages_free(void *memory, size_t size);

/* Returns read-only zeros, which take no memory and are freed in the same way. */
void *pages_zeros(size_t size);

#endif /* NN_PLAN_PAGES_H */
