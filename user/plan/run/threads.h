/* SPDX-License-Identifier: MIT */
/*
 * The threads of this process that share the work of executions. It has one besides the caller's
 * for each CPU that it may keep busy, up to 256, however many executions there are.
 */
#ifndef NN_PLAN_THREADS_H
#define NN_PLAN_THREADS_H

#include <stdint.h>

/* The time that an idle thread spins: more than the time between two operations of an execution. */
#define THREADS_SPIN_NS 50000

/* The number of sleeping threads that one thread wakes. These wake others. */
#define THREADS_FAN_OUT 4

/*
 * The time that a helper may be late in the end, and for which callers do without it if it is
 * later.
 */
#define THREADS_LATE_NS 300000
#define THREADS_ALONE_NS 20000000

/* Runs one task; of the threads of a job each has another `thread`, below their number. */
typedef void threads_fn(void *arg, uint32_t task, uint32_t thread);

/* Makes the threads if they are not there; returns how many can run tasks, the caller included. */
uint32_t threads_start(void);

/*
 * Runs tasks 0 ... count - 1 on this thread, and on others that have nothing
 * else to do; returns when all are done. `threads` bounds how many, this one
 * included.
 */
void threads_run(threads_fn *fn, void *arg, uint32_t count, uint32_t threads);

/*
 * Does what threads_run() does, for tasks that may be long: waiting for one is no sign that other
 * processes use the CPUs.
 */
void threads_run_long(threads_fn *fn, void *arg, uint32_t count, uint32_t threads);

#endif /* NN_PLAN_THREADS_H */
