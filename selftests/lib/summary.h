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

/** struct shown - A line of debugfs' nnaccel/commands */
struct shown {
	unsigned long long context;
	unsigned long long cookie;
	char kind[16];
	char state[16];
	unsigned int age_ms;
	unsigned long long model;
	unsigned int priority;
	char flags[8];
};

/** shown_commands() - The first @max of those lines; how many there are. */
int shown_commands(struct shown *shown, int max);

/** shown_command() - The first line of a context; false: it has none. */
bool shown_command(int fd, struct shown *shown);

/** param_get() - A parameter of the module, or -1. */
long long param_get(const char *name);

/** param_set() - Sets a parameter of the module; its old value, or -1. */
long long param_set(const char *name, long long value);

#endif
