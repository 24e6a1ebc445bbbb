/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail: of all that is linked into a program with the Makefile's `failing`,
 * whichever thread makes them. Memory, mappings, memfds, eventfds and threads are such.
 */
#ifndef NN_TESTS_FAILING_H
#define NN_TESTS_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>

/* The owner of allocations: this process, or a program of tests/failing/nnacceld. */
enum failing_who { FAILING_SELF, FAILING_BROKER, FAILING_WORKER, FAILING_KEEPER, FAILING_COUNT };

struct failing {
	/* Allocations yet to come, with the one that fails; 0: none does, or it was before. */
	atomic_uint countdown;
	atomic_uint failures;
	atomic_bool is_lasting;
};

/* The file that the engine's programs map and obey. scripts/guest/failing makes it. */
#define FAILING_FILE "/run/nnaccel-failing"

/*
 * Opens FAILING_FILE at `path`, to set failures of other processes. Returns false if it is missing.
 */
bool failing_open(const char *path);

/* For a program of the engine: obeys its file from now on. Does nothing if there is no file. */
void failing_obey(enum failing_who who, const char *path);

/*
 * Lets the `number`-th allocation from now on fail, and with `lasting` all later ones; 0: no
 * failure. failing_open() must come before failures of other processes.
 */
void failing_begin(enum failing_who who, unsigned int number, bool lasting);

/* Ends that; returns how many failed. */
unsigned int failing_end(enum failing_who who);

#endif /* NN_TESTS_FAILING_H */
