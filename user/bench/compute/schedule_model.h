/* SPDX-License-Identifier: MIT */
/*
 * Estimates the time of a plan on more CPUs than the machine has. It simulates threads that share
 * the tasks of steps in the same way as plan/run/threads.c.
 */
#ifndef NN_BENCH_SCHEDULE_MODEL_H
#define NN_BENCH_SCHEDULE_MODEL_H

#include <stdint.h>

#define SCHEDULE_WORKERS 256

/* A step; the next one begins when all of its tasks are done. */
struct schedule_step {
	const double *tasks;		/* ns of each task on one thread, by task number */
	uint32_t count;
};

/* The costs of sharing, in ns. */
struct schedule_costs {
	double open;			/* time that opening a job takes before the first task */
	double notice;	/* time from a write until a spinning thread sees it */
	double take;	/* time to take a task's number, one thread at a time */
	double wake_call;		/* time that the call which wakes threads takes */
	double wake;			/* time from the call that wakes threads until they run */
	double spin;			/* idle time after which a thread sleeps */
	uint32_t fan_out;		/* number of sleeping threads that one thread wakes */
};

/*
 * Returns the ns of one execution of the steps on `threads` threads (including the caller), each on
 * its own CPU. In a series of executions, each finds threads asleep or awake as the previous
 * execution left them. Tasks are assumed to take no longer when other threads share caches and
 * memory.
 */
double schedule_run(const struct schedule_step *steps, uint32_t count, uint32_t threads,
		    const struct schedule_costs *costs);

#endif /* NN_BENCH_SCHEDULE_MODEL_H */
