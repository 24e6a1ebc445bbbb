/* SPDX-License-Identifier: MIT */
/*
 * Structures that begin with their size. Programs built with an older header pass shorter
 * structures, and programs built with a newer header pass longer structures. Array elements have no
 * size field: an element's type never grows, or the caller passes the element's size as an
 * argument.
 */
#ifndef NN_BASE_SIZED_H
#define NN_BASE_SIZED_H

#include <stddef.h>

/* The size of a structure up to and including the field `field`. */
#define SIZE_WITH(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* True if a structure from another program is long enough to have the field `field`. */
#define HAS_FIELD(structure, field) \
	((structure)->size >= SIZE_WITH(__typeof__(*(structure)), field))

#endif /* NN_BASE_SIZED_H */
