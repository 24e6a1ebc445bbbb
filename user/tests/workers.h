/* SPDX-License-Identifier: MIT */
/*
 * The engine's workers, as a test that is root sees them in /proc.
 */
#ifndef NN_TESTS_WORKERS_H
#define NN_TESTS_WORKERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The worker that serves this program; -1: there is not exactly one that serves somebody, though
 * those of clients that are gone were given time to end.
 */
pid_t workers_find(void);

/* The keeper of the compilation cache; -1: there is not exactly one. */
pid_t workers_find_keeper(void);

/* The thread of a worker that has used the most CPU time; -1: /proc does not tell. */
pid_t workers_busiest_thread(pid_t worker);

/* Nanoseconds of CPU time that all threads of a worker have used; -1: /proc does not tell. */
int64_t workers_cpu_time(pid_t worker);

/* Whether the nnacceld that runs was started with an option, "--lazy". */
bool workers_have_option(const char *option);

/* Kills that one; whether it was there. */
bool workers_kill(void);

#endif /* NN_TESTS_WORKERS_H */
