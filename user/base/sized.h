/* SPDX-License-Identifier: MIT */
/*
 * Structures that begin with their size. Structures of an older header are shorter, and those of a
 * newer one longer. Elements of arrays have no size field: they never grow, or their size is an
 * argument of the call.
 */
#ifndef NN_BASE_SIZED_H
#define NN_BASE_SIZED_H

#include <stddef.h>

/* The size of a structure that ends with this field. */
#define SIZE_WITH(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* Is true if a structure from another program has a field. */
#define HAS_FIELD(structure, field) \
	((structure)->size >= SIZE_WITH(__typeof__(*(structure)), field))

#endif /* NN_BASE_SIZED_H */
