/* SPDX-License-Identifier: MIT */
/*
 * What the module tells of itself: the counters of debugfs' nnaccel/summary,
 * a context's fdinfo, and the module's parameters.
 */
#ifndef SELFTESTS_SUMMARY_H
#define SELFTESTS_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#define NUM_COUNTERS 17

/** struct summary - What exists now; in the order of the summary */
struct summary {
	long long counter[NUM_COUNTERS];
};

/** summary_read() - Reads the counters; false: the summary has another form. */
bool summary_read(struct summary *summary);

/** summary_settles() - Waits until the counters are those again; false, and says which: never. */
bool summary_settles(const struct summary *before);

/** summary_get() - A counter by its name, or a line of a context's fdinfo where fd >= 0; or -1. */
long long summary_get(int fd, const char *name);

/** summary_becomes() - Waits until that counter is @value; false, and says what it is: never. */
bool summary_becomes(int fd, const char *name, long long value);

/** param_set() - Sets a parameter of the module; its old value, or -1. */
long long param_set(const char *name, long long value);

#endif
