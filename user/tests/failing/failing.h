/* SPDX-License-Identifier: MIT */
/*
 * Makes allocations fail on any thread, in all code that is linked into a program with the
 * Makefile's `failing`: memory, mappings, memfds, eventfds and threads.
 */
#ifndef NN_TESTS_FAILING_H
#define NN_TESTS_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>

/* Processes whose allocations can fail: this process, and processes of tests/failing/nnacceld. */
enum failing_who { FAILING_SELF, FAILING_BROKER, FAILING_WORKER, FAILING_KEEPER, FAILING_COUNT };

struct failing {
	/* Number of allocations up to the next failing allocation; 0 if no allocation fails. */
	atomic_uint countdown;
	atomic_uint failures;
	atomic_bool is_lasting;
};

/* The file, from scripts/guest/allocation-failures, by which allocations of the engine fail. */
#define FAILING_FILE "/run/nnaccel-failing"

/*
 * Opens FAILING_FILE at `path`, to set failures of other processes. Returns false if the file is
 * missing.
 */
bool failing_open(const char *path);

/*
 * Called by a program of the engine, whose allocations then fail as the file at `path` says. Does
 * nothing if the file does not exist.
 */
void failing_obey(enum failing_who who, const char *path);

/*
 * Makes the `number`-th allocation after failing_begin() fail, and all later allocations if
 * `lasting` is set. The number 0 ends the failures. To make allocations of other processes fail,
 * call failing_open() first.
 */
void failing_begin(enum failing_who who, unsigned int number, bool lasting);

/* Ends the failures; returns how many allocations failed. */
unsigned int failing_end(enum failing_who who);

#endif /* NN_TESTS_FAILING_H */
