/* SPDX-License-Identifier: MIT */
/*
 * The module's reports: the counters of debugfs' nnaccel/summary, a context's fdinfo, and the
 * module's parameters.
 */
#ifndef SELFTESTS_SUMMARY_H
#define SELFTESTS_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#define NUM_COUNTERS 17

/** struct summary - Counters of existing objects, in the order of names[] in summary.c */
struct summary {
	long long counter[NUM_COUNTERS];
};

/** summary_read() - Reads the counters; false: the summary has another form. */
bool summary_read(struct summary *summary);

/** summary_settles() - Waits until the counters equal @before; false: logs the differences. */
bool summary_settles(const struct summary *before);

/**
 * summary_get() - Returns a counter by its name, or a line of a context's fdinfo if fd >= 0; or -1.
 */
long long summary_get(int fd, const char *name);

/** summary_becomes() - Waits until a counter is @value; false: logs the counter's last value. */
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

/** shown_commands() - Reads @max lines of nnaccel/commands; returns the number of all lines. */
int shown_commands(struct shown *shown, int max);

/** shown_command() - Reads the line of a context's newest command; false: no command. */
bool shown_command(int fd, struct shown *shown);

/** param_get() - Returns a parameter of the module, or -1. */
long long param_get(const char *name);

/** param_set() - Sets a parameter of the module; returns its old value, or -1. */
long long param_set(const char *name, long long value);

#endif
