/* SPDX-License-Identifier: MIT */
/*
 * Tuning of a compiled plan that is hot, in two phases. The first times each step on all threads
 * and on one, and proposes the faster way of each. Steps that are fast alone need not be so
 * together: between steps on one thread the others fall asleep. So the second phase runs the
 * whole plan as it was and as proposed, in rounds, and keeps the proposal only where it won
 * nearly all of them.
 */
#include <stdlib.h>

#include "base/tuned.h"
#include "plan/run/tuning.h"

_Static_assert(NN_PLAN_HOT + NN_PLAN_TUNING < TUNED_EXECUTIONS, "clients save too early");

/* Executions of the first phase: even ones on all threads, odd ones on one. */
#define STEP_RUNS 16

/*
 * A round of the second phase: twice as it was, twice as proposed. The first of each two finds
 * the threads as the other way left them, so only the second counts.
 */
#define ROUND_RUNS 4
#define ROUNDS 8

/* Rounds that the proposal has to win: where both are equal that many are won 3.5 times of 100. */
#define WINS 7

_Static_assert(NN_PLAN_TUNING == STEP_RUNS + ROUNDS * ROUND_RUNS, "as many as plan.h says");

enum way { ALL, ALONE, WAYS };

struct tuning {
	_Atomic(uint32_t) executions;	/* up to NN_PLAN_HOT */
	atomic_bool busy;		/* an execution measures: what follows is its own */
	atomic_bool done;
	uint32_t runs;			/* that measured */
	uint64_t run_ns;		/* of this one's kernels so far */
	uint64_t first_ns;		/* of the round, as it was */
	uint32_t wins;
	uint32_t num_steps;
	uint64_t best_ns[];		/* [num_steps][WAYS] */
};

bool tuning_create(struct compiled *c)
{
	size_t size = sizeof(*c->tuning) + c->num_steps * WAYS * sizeof(uint64_t);

	if (c->threads < 2)
		return true;
	c->tuning = calloc(1, size);
	if (!c->tuning)
		return false;
	c->tuning->num_steps = c->num_steps;
	for (uint32_t i = 0; i < c->num_steps * WAYS; i++)
		c->tuning->best_ns[i] = UINT64_MAX;
	return true;
}

void tuning_free(struct tuning *t)
{
	free(t);
}

struct tuning *tuning_begin(struct tuning *t)
{
	if (!t || atomic_load_explicit(&t->done, memory_order_relaxed))
		return NULL;
	if (atomic_load_explicit(&t->executions, memory_order_relaxed) < NN_PLAN_HOT) {
		atomic_fetch_add_explicit(&t->executions, 1, memory_order_relaxed);
		return NULL;
	}
	if (atomic_exchange(&t->busy, true))
		return NULL;
	/* Whoever was at it may have been the last one. */
	if (!atomic_load(&t->done))
		return t;
	atomic_store(&t->busy, false);
	return NULL;
}

static bool is_faster_alone(const struct tuning *t, uint32_t step)
{
	return t->best_ns[step * WAYS + ALONE] < t->best_ns[step * WAYS + ALL];
}

/* Whether this run of the second phase is one of the proposal's, and counts. */
static bool is_proposed(const struct tuning *t)
{
	return (t->runs - STEP_RUNS) % ROUND_RUNS >= ROUND_RUNS / 2;
}

static bool counts(const struct tuning *t)
{
	return (t->runs - STEP_RUNS) % (ROUND_RUNS / 2) == 1;
}

uint32_t tuning_threads(const struct tuning *t, uint32_t step, uint32_t threads)
{
	bool alone = t->runs < STEP_RUNS ? t->runs % WAYS == ALONE :
		     is_proposed(t) && is_faster_alone(t, step);

	return alone ? 1 : threads;
}

void tuning_add(struct tuning *t, uint32_t step, uint64_t ns)
{
	uint64_t *best = &t->best_ns[step * WAYS + t->runs % WAYS];

	t->run_ns += ns;
	if (t->runs < STEP_RUNS && *best > ns)
		*best = ns;
}

static bool proposes_nothing(const struct tuning *t)
{
	for (uint32_t i = 0; i < t->num_steps; i++)
		if (is_faster_alone(t, i))
			return false;
	return true;
}

/* What a run of the second phase tells. */
static void judge(struct tuning *t)
{
	if (!counts(t))
		return;
	if (is_proposed(t))
		t->wins += t->run_ns < t->first_ns;
	else
		t->first_ns = t->run_ns;
}

void tuning_end(struct compiled *c, bool succeeded)
{
	struct tuning *t = c->tuning;

	if (succeeded) {
		if (t->runs >= STEP_RUNS)
			judge(t);
		t->runs++;
		if (t->runs == NN_PLAN_TUNING && t->wins >= WINS)
			for (uint32_t i = 0; i < t->num_steps; i++)
				atomic_store_explicit(&c->steps[i].threads, is_faster_alone(t, i),
						      memory_order_relaxed);
		if (t->runs == NN_PLAN_TUNING || (t->runs == STEP_RUNS && proposes_nothing(t)))
			atomic_store(&t->done, true);
	}
	t->run_ns = 0;
	atomic_store(&t->busy, false);
}

bool tuning_is_done(const struct tuning *t)
{
	return t && atomic_load(&t->done);
}

void tuning_save(const struct compiled *c, uint8_t *steps)
{
	for (uint32_t i = 0; i < c->num_steps; i++)
		steps[i] = (uint8_t)atomic_load(&c->steps[i].threads);
}

bool tuning_load(struct compiled *c, const uint8_t *steps, uint32_t num_steps)
{
	if (num_steps != c->num_steps)
		return false;
	for (uint32_t i = 0; i < num_steps; i++) {
		if (steps[i] > 1)
			return false;
		atomic_store(&c->steps[i].threads, steps[i]);
	}
	if (c->tuning)
		atomic_store(&c->tuning->done, true);
	return true;
}
