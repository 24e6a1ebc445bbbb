/* SPDX-License-Identifier: MIT */
/*
 * Kills a process, or simulates a disk error, at every system call in turn. The test program starts
 * itself under strace once for each system call that the child makes between two marks. At that
 * call the child is killed, or the call fails.
 */
#ifndef NN_TESTS_KILLING_H
#define NN_TESTS_KILLING_H

#include <stdbool.h>

/* Marks, in the child, the begin and the end of the system calls at which the child is killed. */
void killing_mark(void);

/* The child calls this to report that its work is done; from then on the work must be durable. */
void killing_acknowledge(void);

/*
 * Starts this program with the arguments `what` and `folder` as a child: once to the end, then once
 * for each system call, at which the child is killed. Calls prepare() before each start, and
 * check() when the child has ended; `acknowledged` says whether the child called
 * killing_acknowledge(). Fails if data were not on the disk at that time. Returns the number of
 * system calls, or 0 without strace.
 */
unsigned int killing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

/* The exit status of a child that reports a failure. */
#define KILLING_REFUSED 3

/*
 * Does the same as killing_run(), but system calls fail as on a disk that is full, read-only or
 * broken. Each call fails alone, then together with all later calls of its name. The child either
 * acknowledges and exits with 0, or exits with KILLING_REFUSED. Returns the number of runs, or 0
 * without strace.
 */
unsigned int failing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

#endif /* NN_TESTS_KILLING_H */
