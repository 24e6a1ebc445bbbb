/* SPDX-License-Identifier: MIT */
/*
 * Kills a process, or simulates a disk error, at every system call in turn. The test program starts
 * itself as a child under strace, once for each system call that the child makes between two marks.
 * In each run, a child process is killed at one system call, or one system call of the child fails.
 */
#ifndef NN_TESTS_KILLING_H
#define NN_TESTS_KILLING_H

#include <stdbool.h>

/*
 * Marks the range of system calls at which the child may be killed; the child calls killing_mark()
 * before and after the range.
 */
void killing_mark(void);

/* Reports that the work of the child is done and durable; the child calls killing_acknowledge(). */
void killing_acknowledge(void);

/*
 * Starts this program as a child with the arguments `what` and `folder`. The first child runs to
 * the end. Each further child is killed at another system call between the marks; a short test run
 * does not try every system call. Calls prepare() before each start of a child, and check() after
 * the end of each child; `acknowledged` says whether the child called killing_acknowledge(). Fails
 * the test if the first child called killing_acknowledge() before the child's data were synced.
 * Returns the number of system calls between the marks, or 0 if strace is missing.
 */
unsigned int killing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

/* Exit status of a child to report a failure. */
#define KILLING_REFUSED 3

/*
 * failing_run() resembles killing_run(), but system calls of the children fail as on a disk that is
 * full, read-only or broken. Each system call fails alone, then together with all later calls of
 * the same name. The child must either acknowledge and exit with 0, or exit with KILLING_REFUSED.
 * Returns the number of children, or 0 if strace is missing.
 */
unsigned int failing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

#endif /* NN_TESTS_KILLING_H */
