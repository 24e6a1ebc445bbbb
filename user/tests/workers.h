/* SPDX-License-Identifier: MIT */
/*
 * The engine's workers, as a test that is root sees them in /proc.
 */
#ifndef NN_TESTS_WORKERS_H
#define NN_TESTS_WORKERS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The worker that serves this program; -1: there is not exactly one that serves somebody, though
 * those of clients that are gone were given time to end.
 */
pid_t workers_find(void);

/* Kills that one; whether it was there. */
bool workers_kill(void);

#endif /* NN_TESTS_WORKERS_H */
