/* SPDX-License-Identifier: MIT */
/*
 * Death, or an error of the disk, at every system call in turn: this program is started again
 * under strace, as often as it makes calls between two marks, and killed at another one each
 * time, or another one fails.
 */
#ifndef NN_TESTS_KILLING_H
#define NN_TESTS_KILLING_H

#include <stdbool.h>

/* Begins, and ends, what a victim is killed in. */
void killing_mark(void);

/* The victim has been told that its work is done: from here on it must be. */
void killing_acknowledge(void);

/*
 * Starts this program with the arguments `what` and `folder`: once to the end, then
 * for each of its calls once more, killed there. prepare() goes before each start.
 * check() comes after it, and is told whether the victim acknowledged. Before that
 * all that the victim wrote has to be on the disk. Returns the number of calls; 0:
 * there is no strace.
 */
unsigned int killing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

/* What a victim exits with that did not do its work and says so. */
#define KILLING_REFUSED 3

/*
 * The same with calls that fail as they do on a disk that is full, read-only or broken: each one
 * alone, and each one with all later calls of its name. A victim either acknowledges and
 * exits with 0, or exits with KILLING_REFUSED. Returns the number of runs; 0: there is no strace.
 */
unsigned int failing_run(const char *what, const char *folder, void (*prepare)(void),
			 void (*check)(bool acknowledged));

#endif /* NN_TESTS_KILLING_H */
