/* SPDX-License-Identifier: MIT */
/*
 * The threads of this process that share the work of executions. With the caller's, there is one
 * thread for each CPU that the process may keep busy, up to 256, however many executions there are.
 */
#ifndef NN_PLAN_THREADS_H
#define NN_PLAN_THREADS_H

#include <stdint.h>

/*
 * The time that an idle thread spins. It is longer than the time between two operations of an
 * execution.
 */
#define THREADS_SPIN_NS 50000

/* The number of sleeping threads that one thread wakes. Each of these wakes more threads. */
#define THREADS_FAN_OUT 4

/*
 * If a caller waits longer than THREADS_LATE_NS for helpers at the end of a job, callers use no
 * helpers for THREADS_ALONE_NS.
 */
#define THREADS_LATE_NS 300000
#define THREADS_ALONE_NS 20000000

/*
 * Runs one task. `thread` is the number of the thread in the job: 0 up to the number of threads -
 * 1.
 */
typedef void threads_fn(void *arg, uint32_t task, uint32_t thread);

/*
 * Creates the threads at the first call. Returns how many threads can run tasks, the caller
 * included.
 */
uint32_t threads_start(void);

/*
 * Runs tasks 0 ... count - 1 on this thread and on idle ones; returns when all tasks are done. At
 * most `threads` threads run tasks, this one included.
 */
void threads_run(threads_fn *fn, void *arg, uint32_t count, uint32_t threads);

/*
 * Does what threads_run() does, for tasks that may be long. Waiting for helpers is then no sign
 * that other processes use the CPUs, so later jobs still use helpers.
 */
void threads_run_long(threads_fn *fn, void *arg, uint32_t count, uint32_t threads);

#endif /* NN_PLAN_THREADS_H */
