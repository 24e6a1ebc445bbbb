/* SPDX-License-Identifier: MIT */
/*
 * Kills a process, or simulates a disk error, at every system call in turn. The test program starts
 * itself under strace once for each system call that the child makes between two marks. In each run
 * the child is killed at one system call, or one system call fails.
 */
#ifndef NN_TESTS_KILLING_H
#define NN_TESTS_KILLING_H

#include <stdbool.h>

/*
 * The child calls this function twice: before the first and after the last system call at which it
 * may be killed.
 */
void killing_mark(void);

/* The child calls this function to report that its work is done and durable. */
void killing_acknowledge(void);

/*
 * Starts this program with the arguments `what` and `folder` as a child. The first child runs to
 * its end; after that, one child is killed at each system call. Calls prepare() before each start,
 * and check() when the child has ended; `acknowledged` says whether the child called
 * killing_acknowledge(). Fails the test if the first child called killing_acknowledge() before its
 * data were synced. Returns the number of system calls at which a child was killed, or 0 if strace
 * is missing.
 */
unsigned int killing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

/* The exit status of a child that reports a failure. */
#define KILLING_REFUSED 3

/*
 * Like killing_run(), but system calls of the children fail as on a disk that is full, read-only or
 * broken. Each call fails alone, then together with all later calls of its name. The child must
 * either acknowledge and exit with 0, or exit with KILLING_REFUSED. Returns the number of runs, or
 * 0 if strace is missing.
 */
unsigned int failing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

#endif /* NN_TESTS_KILLING_H */
