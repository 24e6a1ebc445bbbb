/* SPDX-License-Identifier: MIT */
/*
 * Estimates the time of a plan on more CPUs than the machine has. The estimate simulates threads
 * that share the tasks of steps as plan/run/threads.c does.
 */
#ifndef NN_BENCH_SCHEDULE_MODEL_H
#define NN_BENCH_SCHEDULE_MODEL_H

#include <stdint.h>

#define SCHEDULE_WORKERS 256

/* A step of a plan; a plan's next step begins when all tasks of this step are done. */
struct schedule_step {
	const double *tasks;		/* ns of each task on one thread, by task number */
	uint32_t count;
};

/* The costs, in ns, of sharing work between threads. */
struct schedule_costs {
	double open;			/* time to open a job, before the first task */
	double notice;	/* time until a spinning thread notices another thread's write */
	/* time for which other threads wait while a thread takes a task */
	double take;
	double wake_call;		/* duration of a call that wakes threads */
	double wake;			/* time from a waking call until the threads run */
	double spin;			/* idle time after which a thread sleeps */
	uint32_t fan_out;		/* number of sleeping threads that one thread wakes */
};

/*
 * Returns the ns of one execution of the steps on `threads` threads (including the caller), each on
 * its own CPU. The simulation runs a series of executions; an execution finds threads asleep or
 * awake as the previous execution left them. The estimate assumes that tasks do not become slower
 * when threads share caches and memory.
 */
double schedule_run(const struct schedule_step *steps, uint32_t count, uint32_t threads,
		    const struct schedule_costs *costs);

#endif /* NN_BENCH_SCHEDULE_MODEL_H */
