/* SPDX-License-Identifier: MIT */
/*
 * Structures that begin with their size. A program built with an older header passes shorter
 * structures; one built with a newer header passes longer ones. Elements of arrays have no size
 * field: either they never grow, or the caller passes their size as an argument.
 */
#ifndef NN_BASE_SIZED_H
#define NN_BASE_SIZED_H

#include <stddef.h>

/* The size of a structure whose last field is this one. */
#define SIZE_WITH(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* True if a structure, which another program may have filled in, has this field. */
#define HAS_FIELD(structure, field) \
	((structure)->size >= SIZE_WITH(__typeof__(*(structure)), field))

#endif /* NN_BASE_SIZED_H */
