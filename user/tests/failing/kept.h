/* SPDX-License-Identifier: MIT */
/*
 * Counts objects that a program has not released. The count of objects covers all threads, and all
 * code that the Makefile's `failing` links into a program.
 */
#ifndef NN_TESTS_KEPT_H
#define NN_TESTS_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/* Kinds of objects. KEPT_WRONG counts releases of objects that were never acquired. */
#define KEPT_KINDS(X)							\
	X(MEMORY, "blocks of memory") X(MAPS, "bytes that are mapped")	\
	X(FILES, "files") X(LOCKS, "locks that exist")			\
	X(HELD, "locks that are held") X(CONDITIONS, "conditions")	\
	X(THREADS, "threads") X(WRONG, "locks used wrongly")

enum kept_kind {
#define KEPT_ENUM(kind, name) KEPT_##kind,
	KEPT_KINDS(KEPT_ENUM)
	KEPT_COUNT
};

struct kept {
	unsigned long counts[KEPT_COUNT];
};

/* Starts counting. Call kept_start() before other functions, while the process has one thread. */
void kept_start(void);

/*
 * Records a new object of a kind; only the wrappers of functions call kept_add(). NULL is ignored.
 */
void kept_add(const void *what, enum kept_kind kind);

/*
 * Removes the record of an object. Removing an object without a record is an error of the program,
 * except for memory, which the C library may have allocated.
 */
void kept_remove(const void *what, enum kept_kind kind);

void kept_mapped(size_t size);

struct kept kept_now(void);

/* Returns the name of a kind of which `after` has more objects than `before`, or NULL. */
const char *kept_more(const struct kept *before, const struct kept *after);

#endif /* NN_TESTS_KEPT_H */
