/* SPDX-License-Identifier: MIT */
/*
 * Failing allocations in everything that is linked into a program with the Makefile's `failing`, on
 * any thread: memory, mappings, memfds, eventfds and threads.
 */
#ifndef NN_TESTS_FAILING_H
#define NN_TESTS_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>

/* The process whose allocations fail: this one, or a process of tests/failing/nnacceld. */
enum failing_who { FAILING_SELF, FAILING_BROKER, FAILING_WORKER, FAILING_KEEPER, FAILING_COUNT };

struct failing {
	/* Number of allocations up to the one that fails; 0 if none fails or it has failed. */
	atomic_uint countdown;
	atomic_uint failures;
	atomic_bool is_lasting;
};

/* The file that the engine's programs map and obey. scripts/guest/allocation-failures makes it. */
#define FAILING_FILE "/run/nnaccel-failing"

/*
 * Opens FAILING_FILE at `path`, to set failures of other processes. Returns false if it is missing.
 */
bool failing_open(const char *path);

/*
 * For a program of the engine: obeys the engine's file of failures from now on. Does nothing
 * without a file.
 */
void failing_obey(enum failing_who who, const char *path);

/*
 * Makes the `number`-th allocation from now on fail, and with `lasting` all later ones; 0 ends the
 * failures. Before failures of other processes, failing_open() must be called.
 */
void failing_begin(enum failing_who who, unsigned int number, bool lasting);

/* Ends the failures; returns how many allocations failed. */
unsigned int failing_end(enum failing_who who);

#endif /* NN_TESTS_FAILING_H */
