/* SPDX-License-Identifier: MIT */
/*
 * Makes allocations of memory, mappings, memfds, eventfds and threads fail on any thread, in all
 * code that the Makefile's `failing` links into a program.
 */
#ifndef NN_TESTS_FAILING_H
#define NN_TESTS_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>

/* Processes whose allocations can fail: this process, and processes of tests/failing/nnacceld. */
enum failing_who { FAILING_SELF, FAILING_BROKER, FAILING_WORKER, FAILING_KEEPER, FAILING_COUNT };

struct failing {
	/*
	 * Number of allocations until an allocation fails, including the failing allocation; 0 if
	 * no allocation fails.
	 */
	atomic_uint countdown;
	atomic_uint failures;
	atomic_bool is_lasting;
};

/*
 * The file that makes allocations of the engine fail; scripts/guest/allocation-failures makes the
 * file.
 */
#define FAILING_FILE "/run/nnaccel-failing"

/*
 * Opens the file at `path` (FAILING_FILE), by which this process can make allocations of other
 * processes fail. Returns false if the file at `path` cannot be opened.
 */
bool failing_open(const char *path);

/*
 * Makes allocations of this process fail if the file at `path` demands failures for processes of
 * kind `who`. Nothing happens if the file at `path` does not exist.
 */
void failing_obey(enum failing_who who, const char *path);

/*
 * Makes the `number`-th next allocation fail and, if `lasting` is set, all later allocations. If
 * `number` is 0, no more allocations fail. To make allocations of other processes fail, call
 * failing_open() first.
 */
void failing_begin(enum failing_who who, unsigned int number, bool lasting);

/* Ends the failures of allocations; returns how many allocations failed. */
unsigned int failing_end(enum failing_who who);

#endif /* NN_TESTS_FAILING_H */
