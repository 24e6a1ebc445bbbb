/* SPDX-License-Identifier: MIT */
/*
 * Estimates the time of a plan on more CPUs than there are. It simulates workers that share the
 * tasks of its steps like those of plan/run/threads.c.
 */
#ifndef NN_BENCH_SCHEDULE_MODEL_H
#define NN_BENCH_SCHEDULE_MODEL_H

#include <stdint.h>

#define SCHEDULE_WORKERS 256

/* A step; the next one begins when all of its tasks are done. */
struct schedule_step {
	const double *tasks;		/* ns of each on one thread, in the order of their numbers */
	uint32_t count;
};

/* The costs of sharing, in ns. */
struct schedule_costs {
	double open;			/* the opener, before its first task */
	double notice;			/* from a thread's write until a spinning thread sees it */
	double take;			/* a task's number; only one thread at a time takes one */
	double wake_call;		/* who wakes sleepers, for the call */
	double wake;			/* from when that begins until they run */
	double spin;			/* idle time after which a thread sleeps */
	uint32_t fan_out;		/* sleepers that one thread wakes */
};

/*
 * Ns of one execution of the steps on so many threads, the caller's included, up to
 * SCHEDULE_WORKERS, each on a CPU of its own. Executions follow one another: the threads are asleep
 * or awake as one before it left them. Caches and memory cost each thread what they cost one that
 * is alone.
 */
double schedule_run(const struct schedule_step *steps, uint32_t count, uint32_t threads,
		    const struct schedule_costs *costs);

#endif /* NN_BENCH_SCHEDULE_MODEL_H */
