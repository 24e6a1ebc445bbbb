/* SPDX-License-Identifier: MIT */
/*
 * Kills a process, or simulates a disk error, at every system call in turn. This program is started
 * again under strace for each call that it makes between two marks. It is killed at that call, or
 * the call fails.
 */
#ifndef NN_TESTS_KILLING_H
#define NN_TESTS_KILLING_H

#include <stdbool.h>

/* Marks the begin and the end of the system calls at which a victim is killed. */
void killing_mark(void);

/*
 * The victim calls this when it has reported that its work is done; from then on the work must be
 * durable.
 */
void killing_acknowledge(void);

/*
 * Starts this program with the arguments `what` and `folder`. It runs once to the end, then once
 * for each of its calls, which kills it. Calls prepare() before each start, and check() after it
 * with whether the victim acknowledged. All data that the victim wrote before its acknowledgement
 * must be on the disk. Returns the number of calls, or 0 without strace.
 */
unsigned int killing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

/* The exit status of a victim that reports a failure. */
#define KILLING_REFUSED 3

/*
 * Does the same with calls that fail as on a disk that is full, read-only or broken: each call
 * alone, and each one with all later calls of its name. A victim either acknowledges and exits with
 * 0, or exits with KILLING_REFUSED. Returns the number of runs, or 0 without strace.
 */
unsigned int failing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

#endif /* NN_TESTS_KILLING_H */
