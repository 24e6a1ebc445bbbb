/* SPDX-License-Identifier: MIT */
/*
 * The threads of this process that share the work of executions. All executions share one set of
 * threads: with the caller's thread, one for each CPU that the process may keep busy, at most 256.
 */
#ifndef NN_PLAN_THREADS_H
#define NN_PLAN_THREADS_H

#include <stdint.h>

/*
 * The time for which an idle thread spins before it sleeps. An idle thread spins for longer than
 * the time between two operations of an execution.
 */
#define THREADS_SPIN_NS 50000

/*
 * The number of sleeping threads that one thread wakes. Each woken thread also wakes up to
 * THREADS_FAN_OUT threads.
 */
#define THREADS_FAN_OUT 4

/*
 * If a caller waits longer than THREADS_LATE_NS for helpers at the end of a job, callers use no
 * helpers for THREADS_ALONE_NS.
 */
#define THREADS_LATE_NS 300000
#define THREADS_ALONE_NS 20000000

/*
 * Runs one task. `thread` is the number of the thread in the job, from 0 to the number of threads -
 * 1.
 */
typedef void threads_fn(void *arg, uint32_t task, uint32_t thread);

/*
 * Returns the number of threads that can run tasks, including the caller. The first call of
 * threads_start() creates the threads.
 */
uint32_t threads_start(void);

/*
 * Runs the tasks 0 ... count - 1 on this thread and on idle threads; returns when all tasks are
 * done. At most `threads` threads run tasks, including this thread.
 */
void threads_run(threads_fn *fn, void *arg, uint32_t count, uint32_t threads);

/*
 * Runs tasks that may be long, like threads_run(). A long wait for helpers does not make later jobs
 * run without helpers, because long tasks also cause long waits.
 */
void threads_run_long(threads_fn *fn, void *arg, uint32_t count, uint32_t threads);

#endif /* NN_PLAN_THREADS_H */
