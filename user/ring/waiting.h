/* SPDX-License-Identifier: MIT */
/*
 * How to wait: learns how long the other end takes, and says whether to spin, to sleep and then
 * spin for the tail, or to sleep. This file does not depend on rings.
 */
#ifndef NN_RING_WAITING_H
#define NN_RING_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* Longest spin if neither the environment nor the caller sets another one. */
#define NN_SPIN_DEFAULT_US 200

/*
 * Returns the longest spin of a wait in ns: NNACCEL_SPIN_US of the environment, otherwise
 * `wanted_us`, or the default if that is negative. Returns 0 with low_power, or if only one CPU is
 * online. Call it before the process enters a sandbox, because it asks the system for the number of
 * CPUs.
 */
uint64_t nn_spin_budget(int wanted_us, bool low_power);

/* What was learned. Only budget_ns may be used by others. */
struct nn_waiter {
	uint64_t budget_ns;	/* longest spin of a short wait */
	uint64_t mean_ns;	/* mean time of waits */
	uint64_t deviation_ns;	/* mean deviation of waits from mean_ns */
	uint64_t late_ns;	/* lateness of a timed sleep */
	uint32_t samples;
	uint32_t sleeps;	/* number of sleeping waits since the last probing spin */
	uint32_t probe;		/* number of sleeping waits before the next probing spin */
	bool held_up;		/* the current wait was held up */
	uint32_t yields;	/* remaining waits that only sleep, because others want the CPU */
	/* Number of sleeping waits the next time that others want the CPU. */
	uint32_t next_yields;
};

/*
 * If a spinning thread was off its CPU for this long, others had to wait for it, and run there now.
 * A slice of a CPU that two threads share is longer.
 */
#define NN_HELD_UP_NS 500000

/* The plan: sleep until sleep_ns after the start, spin until spin_ns after it, then sleep. */
struct nn_wait_plan {
	uint64_t sleep_ns;
	uint64_t spin_ns;
};

void nn_waiter_init(struct nn_waiter *waiter, uint64_t budget_ns);
struct nn_wait_plan nn_waiter_plan(const struct nn_waiter *waiter);

/* Reports that a wait took this long, and whether it slept or only spun. */
void nn_waiter_learn(struct nn_waiter *waiter, uint64_t took_ns, bool slept);

/* Reports that the current wait was delayed in its spin: see NN_HELD_UP_NS. */
void nn_waiter_held_up(struct nn_waiter *waiter);

/* Reports that a timed sleep ended this long after its time. */
void nn_waiter_learn_late(struct nn_waiter *waiter, uint64_t late_ns);

#endif /* NN_RING_WAITING_H */
