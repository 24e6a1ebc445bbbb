/* SPDX-License-Identifier: MIT */
/*
 * Learns how long the other end takes to answer, and chooses between spinning and sleeping.
 */
#define _GNU_SOURCE
#include "ring/waiting.h"

#include <stdlib.h>
#include <unistd.h>

/* Maximum of the spin budget. */
#define MAX_SPIN_US 100000

/*
 * Assumed delay of the end of a timed sleep, before the first measurement: the kernel's timer slack
 * plus the time of a wake-up.
 */
#define FIRST_LATE_NS 65000

/*
 * Maximum lateness of a timed sleep that is learned: a longer delay has another cause than the
 * timer.
 */
#define MAX_LATE_NS 1000000

/* Minimum time between the planned end of a timed sleep and the expected event. */
#define MARGIN_NS 2000

/*
 * After FIRST_PROBE sleeping waits, a wait spins as a probe. Each failed probe raises the number of
 * waits before the next probe, up to LAST_PROBE.
 */
#define FIRST_PROBE 8
#define LAST_PROBE 1024

/*
 * After other threads wanted the CPU during a wait, the next FIRST_YIELDS waits only sleep.
 * If other threads want the CPU repeatedly, the number of sleeping waits rises up to LAST_YIELDS.
 */
#define FIRST_YIELDS 8
#define LAST_YIELDS 1024

/*
 * The spin at the end of a long wait takes at most 1 / TAIL_PART of the mean wait. This limit is
 * never below one spin budget, and never above 2.5 spin budgets.
 */
#define TAIL_PART 4
#define TAIL_BUDGETS(budget) ((budget) * 5 / 2)

/*
 * A sample is limited to MAX_RISE times the mean plus MAX_RISE_NS, so that a pause of the client
 * has little influence on the mean.
 */
#define MAX_RISE 4
#define MAX_RISE_NS 100000

static bool env_us(uint64_t *us)
{
	const char *text = secure_getenv("NNACCEL_SPIN_US");
	uint64_t value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	value = strtoull(text, &end, 10);
	if (*end)
		return false;
	*us = value;
	return true;
}

uint64_t nn_spin_budget(int wanted_us, bool low_power)
{
	uint64_t us;

	if (low_power || sysconf(_SC_NPROCESSORS_ONLN) == 1)
		return 0;
	if (!env_us(&us))
		us = wanted_us < 0 ? NN_SPIN_DEFAULT_US : (uint64_t)wanted_us;
	return (us < MAX_SPIN_US ? us : MAX_SPIN_US) * 1000;
}

void nn_waiter_init(struct nn_waiter *waiter, uint64_t budget_ns)
{
	*waiter = (struct nn_waiter){
		.budget_ns = budget_ns,
		.late_ns = FIRST_LATE_NS,
		.probe = FIRST_PROBE,
		.next_yields = FIRST_YIELDS,
	};
}

/* Returns the time between the planned end of a timed sleep and the mean time of the event. */
static uint64_t lead_ns(const struct nn_waiter *waiter)
{
	return 2 * waiter->deviation_ns + waiter->late_ns + waiter->late_ns / 4 + MARGIN_NS;
}

/*
 * Returns the longest spin after a timed sleep. The longest spin grows with the mean duration of
 * waits, within limits.
 */
static uint64_t tail_ns(const struct nn_waiter *waiter)
{
	uint64_t part = waiter->mean_ns / TAIL_PART, most = TAIL_BUDGETS(waiter->budget_ns);

	if (part > most)
		part = most;
	return part > waiter->budget_ns ? part : waiter->budget_ns;
}

enum way {
	SLEEP,
	SPIN,
	TAIL,			/* plan: sleep first, and spin only at the end of the wait */
	PROBE,			/* spin for once */
};

/*
 * Some waits spin as a probe, because the time of a sleeping wait does not show whether the other
 * end would have answered a spinning end at once. The time of a sleeping wait includes the wake-ups
 * of all ends that slept.
 */
static enum way choose(const struct nn_waiter *waiter)
{
	uint64_t spread = 2 * waiter->deviation_ns, lead = lead_ns(waiter);

	if (!waiter->samples || !waiter->budget_ns || waiter->yields)
		return SLEEP;
	if (waiter->mean_ns + spread <= waiter->budget_ns)
		return SPIN;
	if (waiter->mean_ns > lead && lead + spread <= tail_ns(waiter))
		return TAIL;
	return waiter->sleeps < waiter->probe ? SLEEP : PROBE;
}

struct nn_wait_plan nn_waiter_plan(const struct nn_waiter *waiter)
{
	uint64_t sleep_ns;

	switch (choose(waiter)) {
	case SPIN:
	case PROBE:
		return (struct nn_wait_plan){ 0, waiter->budget_ns };
	case TAIL:
		sleep_ns = waiter->mean_ns - lead_ns(waiter);
		return (struct nn_wait_plan){ sleep_ns, sleep_ns + tail_ns(waiter) };
	case SLEEP:
		break;
	}
	return (struct nn_wait_plan){ 0, 0 };
}

/* Returns a value moved towards a sample, by 1 / 2^shift of the difference. */
static uint64_t approach(uint64_t value, uint64_t sample, unsigned int shift)
{
	if (sample > value)
		return value + ((sample - value) >> shift);
	return value - ((value - sample) >> shift);
}

static void learn_first(struct nn_waiter *waiter, uint64_t took_ns)
{
	waiter->samples = 1;
	if (took_ns > NN_SPIN_DEFAULT_US * 1000 * 1000)
		took_ns = NN_SPIN_DEFAULT_US * 1000 * 1000;
	waiter->mean_ns = took_ns;
	waiter->deviation_ns = took_ns / 2;
}

static void learn_next(struct nn_waiter *waiter, uint64_t took_ns)
{
	uint64_t most = MAX_RISE * waiter->mean_ns + MAX_RISE_NS;
	uint64_t off;

	if (took_ns > most)
		took_ns = most;
	off = took_ns > waiter->mean_ns ? took_ns - waiter->mean_ns : waiter->mean_ns - took_ns;
	waiter->deviation_ns = approach(waiter->deviation_ns, off, 2);
	waiter->mean_ns = approach(waiter->mean_ns, took_ns, 3);
}

/*
 * If a probe succeeds, the durations learned from sleeping waits are forgotten. Half of a
 * successful probe's duration becomes the new mean, because the duration may include a wake-up of
 * the other end. If a probe fails, the next probe comes after more waits.
 */
static void learn_probe(struct nn_waiter *waiter, uint64_t took_ns, bool slept)
{
	waiter->sleeps = 0;
	if (slept) {
		waiter->probe = waiter->probe < LAST_PROBE ? 2 * waiter->probe : LAST_PROBE;
		learn_next(waiter, took_ns);
		return;
	}
	waiter->probe = FIRST_PROBE;
	waiter->mean_ns = took_ns / 2;
	waiter->deviation_ns = 0;
}

void nn_waiter_learn(struct nn_waiter *waiter, uint64_t took_ns, bool slept)
{
	enum way way = choose(waiter);

	/*
	 * A wait that only slept, to leave the CPU to other threads, does not show how fast the
	 * other end answers.
	 */
	if (waiter->yields) {
		waiter->yields--;
		return;
	}
	if (waiter->held_up) {
		waiter->held_up = false;
		waiter->yields = waiter->next_yields;
		if (waiter->next_yields < LAST_YIELDS)
			waiter->next_yields *= 2;
		return;
	}
	if (way != SLEEP && waiter->next_yields > FIRST_YIELDS)
		waiter->next_yields /= 2;
	if (way == PROBE) {
		learn_probe(waiter, took_ns, slept);
		return;
	}
	if (way == SLEEP)
		waiter->sleeps++;
	if (waiter->samples)
		learn_next(waiter, took_ns);
	else
		learn_first(waiter, took_ns);
}

void nn_waiter_held_up(struct nn_waiter *waiter)
{
	waiter->held_up = true;
}

/*
 * A sleep that ends too late has a greater weight, because it costs more than several sleeps that
 * end too early.
 */
void nn_waiter_learn_late(struct nn_waiter *waiter, uint64_t late_ns)
{
	if (late_ns > MAX_LATE_NS)
		late_ns = MAX_LATE_NS;
	waiter->late_ns = approach(waiter->late_ns, late_ns, late_ns > waiter->late_ns ? 1 : 4);
}
