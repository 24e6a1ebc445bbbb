/* SPDX-License-Identifier: MIT */
/*
 * The engine's workers, as a test that is root sees them in /proc.
 */
#ifndef NN_TESTS_WORKERS_H
#define NN_TESTS_WORKERS_H

#include <sys/types.h>

/* A worker that serves somebody; -1: there is none. */
pid_t workers_find(void);

/*
 * Kills the workers that serve somebody, which is to be this program only.
 * Returns how many; -1: /proc can't be read.
 */
int workers_kill(void);

#endif /* NN_TESTS_WORKERS_H */
