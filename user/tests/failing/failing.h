/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail: of all that is linked into a program with the Makefile's `failing`, whichever
 * thread makes them. Memory, mappings, memfds, eventfds and threads are such.
 */
#ifndef NN_TESTS_FAILING_H
#define NN_TESTS_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>

/* Whose allocations: of this process, or of the programs of tests/failing/nnacceld. */
enum failing_who { FAILING_SELF, FAILING_BROKER, FAILING_WORKER, FAILING_KEEPER, FAILING_COUNT };

struct failing {
	/* Allocations yet to come, with the one that fails; 0: none does, or it was before. */
	atomic_uint countdown;
	atomic_uint failures;
	atomic_bool is_lasting;
};

/* Of each program of the engine, in a file that all of them map; scripts/guest/failing makes it. */
#define FAILING_FILE "/run/nnaccel-failing"

/* Takes that file for others than this process. False where there is none. */
bool failing_open(const char *path);

/* For a program of the engine: takes from here on what its file says. Nothing where there is none. */
void failing_obey(enum failing_who who, const char *path);

/*
 * The `number`-th one from now on fails, and with `lasting` each that comes later; 0: none does. Of
 * others than this process after failing_open().
 */
void failing_begin(enum failing_who who, unsigned int number, bool lasting);

/* Ends that; returns how many failed. */
unsigned int failing_end(enum failing_who who);

#endif /* NN_TESTS_FAILING_H */
