/* SPDX-License-Identifier: MIT */
/*
 * Learns how long the other end takes to answer, and chooses how to wait: to spin, to sleep and
 * spin at the end, or only to sleep. This file does not depend on the code for rings.
 */
#ifndef NN_RING_WAITING_H
#define NN_RING_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* Default of the longest spin, if neither the environment nor the caller sets it. */
#define NN_SPIN_DEFAULT_US 200

/*
 * Returns the longest spin of a wait in ns, at most 100 ms. The environment variable
 * NNACCEL_SPIN_US or, if the variable is not set, `wanted_us` determines the longest spin; a
 * negative `wanted_us` means the default. Returns 0 if low_power is true, or if only one CPU is
 * online. The function must be called before the process enters a sandbox, because the function
 * asks the system for the number of CPUs.
 */
uint64_t nn_spin_budget(int wanted_us, bool low_power);

/* Measurements of earlier waits. Outside of waiting.c, only nn_waiter.budget_ns may be used. */
struct nn_waiter {
	uint64_t budget_ns;	/* longest time that a short wait spins */
	uint64_t mean_ns;	/* mean duration of waits */
	uint64_t deviation_ns;	/* mean deviation of waits from mean_ns */
	uint64_t late_ns;	/* how much later than planned a timed sleep ends */
	uint32_t samples;
	uint32_t sleeps;	/* number of sleeping waits since the last probe */
	uint32_t probe;		/* number of sleeping waits between two probes */
	bool held_up;		/* true: this thread lost its CPU during the current wait */
	/* number of future waits that only sleep, so that other threads get the CPU */
	uint32_t yields;
	/* The value that `yields` gets when other threads need the CPU again. */
	uint32_t next_yields;
};

/*
 * If a spinning thread loses its CPU for NN_HELD_UP_NS, other threads were waiting for this CPU. A
 * thread that shares its CPU with another thread gets time slices longer than NN_HELD_UP_NS.
 */
#define NN_HELD_UP_NS 500000

/*
 * The plan of a wait: sleep until sleep_ns after the wait's begin, spin until spin_ns after the
 * wait's begin, then sleep.
 */
struct nn_wait_plan {
	uint64_t sleep_ns;
	uint64_t spin_ns;
};

void nn_waiter_init(struct nn_waiter *waiter, uint64_t budget_ns);
struct nn_wait_plan nn_waiter_plan(const struct nn_waiter *waiter);

/* Reports the duration of a wait, and whether the thread slept or only spun. */
void nn_waiter_learn(struct nn_waiter *waiter, uint64_t took_ns, bool slept);

/* Reports that the thread lost its CPU while it spun for a packet; see NN_HELD_UP_NS. */
void nn_waiter_held_up(struct nn_waiter *waiter);

/* Reports that a timed sleep ended late_ns later than planned. */
void nn_waiter_learn_late(struct nn_waiter *waiter, uint64_t late_ns);

#endif /* NN_RING_WAITING_H */
