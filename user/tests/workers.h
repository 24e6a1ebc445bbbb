/* SPDX-License-Identifier: MIT */
/* Finds the engine's workers in /proc, as root. */
#ifndef NN_TESTS_WORKERS_H
#define NN_TESTS_WORKERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Waits until workers of ended clients have ended. Returns the worker that serves this program, or
 * -1 unless exactly one worker serves a client.
 */
pid_t workers_find(void);

/*
 * Returns the process id of the compilation cache's keeper, or -1 unless exactly one keeper runs.
 */
pid_t workers_find_keeper(void);

/*
 * Returns the worker's thread that has used the most CPU time; -1 if /proc does not show CPU times.
 */
pid_t workers_busiest_thread(pid_t worker);

/* Returns the CPU time in ns of all threads of a worker; -1 if /proc does not show CPU times. */
int64_t workers_cpu_time(pid_t worker);

/* Returns whether the running nnacceld was started with an option, such as "--lazy". */
bool workers_have_option(const char *option);

/* Kills the running nnacceld; returns false if no nnacceld runs. */
bool workers_kill(void);

#endif /* NN_TESTS_WORKERS_H */
