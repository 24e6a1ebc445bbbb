/* SPDX-License-Identifier: MIT */
/*
 * How to wait: learns how long the other end takes, and says whether to spin, to sleep and then
 * spin for the tail, or to sleep.
 */
#include "ring/waiting.h"

#include <stdlib.h>
#include <unistd.h>

/* Nobody spins longer, whatever is asked for. */
#define MAX_SPIN_US 100000

/* Timed sleeps are this late until one was seen: the kernel's slack and a wake. */
#define FIRST_LATE_NS 65000

/* Time that is always left between a timed sleep and what it waits for. */
#define MARGIN_NS 2000

/* How far a sample may be above the mean; a pause is not how long things take. */
#define MAX_RISE 4
#define MAX_RISE_NS 100000

static bool env_us(uint64_t *us)
{
	const char *text = getenv("NNACCEL_SPIN_US");
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
	*waiter = (struct nn_waiter){ .budget_ns = budget_ns, .late_ns = FIRST_LATE_NS };
}

struct nn_wait_plan nn_waiter_plan(const struct nn_waiter *waiter)
{
	const struct nn_wait_plan sleep = { 0, 0 };
	uint64_t spread = 2 * waiter->deviation_ns;
	uint64_t lead = spread + waiter->late_ns + waiter->late_ns / 4 + MARGIN_NS;

	if (!waiter->samples || !waiter->budget_ns)
		return sleep;
	if (waiter->mean_ns + spread <= waiter->budget_ns)
		return (struct nn_wait_plan){ 0, waiter->budget_ns };
	if (waiter->mean_ns <= lead || lead + spread > waiter->budget_ns)
		return sleep;
	return (struct nn_wait_plan){ waiter->mean_ns - lead,
				      waiter->mean_ns - lead + waiter->budget_ns };
}

/* Moves a value one part in 2^shift towards a sample. */
static uint64_t approach(uint64_t value, uint64_t sample, unsigned int shift)
{
	if (sample > value)
		return value + ((sample - value) >> shift);
	return value - ((value - sample) >> shift);
}

void nn_waiter_learn(struct nn_waiter *waiter, uint64_t took_ns)
{
	uint64_t most = MAX_RISE * waiter->mean_ns + MAX_RISE_NS;
	uint64_t off;

	if (!waiter->samples) {
		waiter->samples = 1;
		if (took_ns > NN_SPIN_DEFAULT_US * 1000 * 1000)
			took_ns = NN_SPIN_DEFAULT_US * 1000 * 1000;
		waiter->mean_ns = took_ns;
		waiter->deviation_ns = took_ns / 2;
		return;
	}
	if (took_ns > most)
		took_ns = most;
	off = took_ns > waiter->mean_ns ? took_ns - waiter->mean_ns : waiter->mean_ns - took_ns;
	waiter->deviation_ns = approach(waiter->deviation_ns, off, 2);
	waiter->mean_ns = approach(waiter->mean_ns, took_ns, 3);
}

void nn_waiter_learn_late(struct nn_waiter *waiter, uint64_t late_ns)
{
	waiter->late_ns = approach(waiter->late_ns, late_ns < 1000000 ? late_ns : 1000000, 3);
}
