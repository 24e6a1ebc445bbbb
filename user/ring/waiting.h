/* SPDX-License-Identifier: MIT */
/*
 * How to wait: learns how long the other end takes to answer, and chooses whether to spin, to sleep
 * and spin at the end, or only to sleep. This file does not depend on rings.
 */
#ifndef NN_RING_WAITING_H
#define NN_RING_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* Maximum spin if neither the environment nor the caller sets one. */
#define NN_SPIN_DEFAULT_US 200

/*
 * Returns the longest spin of a wait in ns: the environment's NNACCEL_SPIN_US; without it
 * `wanted_us`, or the default if `wanted_us` is negative. Returns 0 with low_power, or if only one
 * CPU is online. Must be called before the process enters a sandbox, because it asks the system for
 * the number of CPUs.
 */
uint64_t nn_spin_budget(int wanted_us, bool low_power);

/* State that is learned from waits. Other files may use only budget_ns. */
struct nn_waiter {
	uint64_t budget_ns;	/* longest spin of a short wait */
	uint64_t mean_ns;	/* mean duration of waits */
	uint64_t deviation_ns;	/* mean deviation of waits from mean_ns */
	uint64_t late_ns;	/* how much later than planned a timed sleep ends */
	uint32_t samples;
	uint32_t sleeps;	/* waits that slept since the last probing spin */
	uint32_t probe;		/* waits that must sleep before the next probing spin */
	bool held_up;		/* this thread lost its CPU during the current wait */
	/* further waits that only sleep, because other threads want the CPU */
	uint32_t yields;
	/* Value of `yields` the next time that other threads want the CPU. */
	uint32_t next_yields;
};

/*
 * If a spinning thread loses its CPU for this long, other threads had waited for this CPU. The time
 * slice of a thread that shares its CPU with another is longer than this.
 */
#define NN_HELD_UP_NS 500000

/*
 * The plan of a wait: sleep until sleep_ns after its start, spin until spin_ns after its start,
 * then sleep.
 */
struct nn_wait_plan {
	uint64_t sleep_ns;
	uint64_t spin_ns;
};

void nn_waiter_init(struct nn_waiter *waiter, uint64_t budget_ns);
struct nn_wait_plan nn_waiter_plan(const struct nn_waiter *waiter);

/* Reports how long a wait took, and whether the thread slept or only spun. */
void nn_waiter_learn(struct nn_waiter *waiter, uint64_t took_ns, bool slept);

/* Reports that the thread lost its CPU while it spun: see NN_HELD_UP_NS. */
void nn_waiter_held_up(struct nn_waiter *waiter);

/* Reports that a timed sleep ended late_ns later than planned. */
void nn_waiter_learn_late(struct nn_waiter *waiter, uint64_t late_ns);

#endif /* NN_RING_WAITING_H */
