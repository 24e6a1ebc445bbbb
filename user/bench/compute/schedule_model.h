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
	const double *tasks;		/* ns of each task on one thread, ordered by number */
	uint32_t count;
};

/* The costs of sharing, in ns. */
struct schedule_costs {
	double open;			/* time of the job's opener before its first task */
	double notice;	/* from a thread's write until a spinning thread sees the write */
	double take;	/* time to take a task's number, which only one thread at a time can do */
	double wake_call;		/* time that the call which wakes threads takes */
	double wake;			/* time from the call that wakes threads until they run */
	double spin;			/* idle time after which a thread sleeps */
	uint32_t fan_out;		/* number of sleeping threads that one thread wakes */
};

/*
 * Returns the ns of one execution of the steps on `threads` threads, the caller included, each on
 * its own CPU. Executions follow one another: each finds threads asleep or awake as the previous
 * one left them. Caches and memory cost each thread as much as a thread that runs alone.
 */
double schedule_run(const struct schedule_step *steps, uint32_t count, uint32_t threads,
		    const struct schedule_costs *costs);

#endif /* NN_BENCH_SCHEDULE_MODEL_H */
