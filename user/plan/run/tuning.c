/* SPDX-License-Identifier: MIT */
/*
 * Tunes a compiled plan that runs often, in two phases. The first phase measures each step on all
 * threads and on one thread, and proposes the number of threads that is usually faster. The
 * proposed numbers of threads can make the plan slower, because idle threads fall asleep during
 * steps on one thread. The second phase runs the whole plan with and without the proposed numbers
 * of threads, and keeps the proposal only if the plan becomes faster by more than chance explains.
 * The plan is tuned again later, because other programs may have used the CPUs during tuning.
 */
#include <stdlib.h>

#include "base/tuned.h"
#include "plan/run/tuning.h"

_Static_assert(NN_PLAN_HOT + NN_PLAN_TUNING < TUNED_EXECUTIONS, "clients save too early");

/*
 * Number of executions in the first phase: even executions use all threads, and odd executions use
 * one thread.
 */
#define STEP_RUNS 16

/*
 * A round of the second phase runs the plan twice on all threads, then twice with the proposed
 * numbers of threads. Only the second of two runs counts, because the state of the threads, awake
 * or asleep, at the beginning of the first run depends on the runs before.
 */
#define ROUND_RUNS 4
#define ROUNDS 8

/*
 * A proposal is kept if the plan is faster with the proposal in WINS of the ROUNDS rounds. A
 * proposal that changes nothing is faster in WINS rounds by chance in 3.5 % of cases. A proposal is
 * also kept if it is faster in PAIRS of the ROUNDS * ROUNDS pairs of measured runs. A proposal that
 * changes nothing is faster in PAIRS pairs by chance in 2.5 % of cases. Comparing rounds is better
 * if the machine's speed changes slowly; comparing pairs is better if threads are late in some
 * runs.
 */
#define WINS 7
#define PAIRS 51

_Static_assert(NN_PLAN_TUNING == STEP_RUNS + ROUNDS * ROUND_RUNS, "as many as plan.h says");

enum way { ALL, ALONE, WAYS };

#define WAY_RUNS (STEP_RUNS / WAYS)

struct step_times {
	uint64_t ns[WAYS][WAY_RUNS];
	bool alone;			/* true: one thread is proposed for the step */
};

struct tuning {
	_Atomic(uint32_t) wait;		/* number of executions until tuning begins */
	atomic_bool busy;		/* set while a measured execution uses the fields below */
	atomic_bool done;		/* the plan was tuned at least once */
	uint32_t runs;			/* number of measured executions so far */
	uint64_t run_ns;		/* time of all kernels so far in the current execution */
	uint64_t was_ns[ROUNDS];
	uint64_t proposed_ns[ROUNDS];
	uint32_t num_steps;
	struct step_times steps[];
};

bool tuning_create(struct compiled *c)
{
	if (c->threads < 2)
		return true;
	c->tuning = calloc(1, sizeof(*c->tuning) + c->num_steps * sizeof(*c->tuning->steps));
	if (!c->tuning)
		return false;
	c->tuning->num_steps = c->num_steps;
	c->tuning->wait = NN_PLAN_HOT;
	return true;
}

void tuning_free(struct tuning *t)
{
	free(t);
}

struct tuning *tuning_begin(struct tuning *t)
{
	uint32_t wait;

	if (!t)
		return NULL;
	wait = atomic_load_explicit(&t->wait, memory_order_relaxed);
	while (wait)
		if (atomic_compare_exchange_weak_explicit(&t->wait, &wait, wait - 1,
							  memory_order_relaxed, memory_order_relaxed))
			return NULL;
	if (atomic_exchange(&t->busy, true))
		return NULL;
	/*
	 * Read `wait` again: after the first read, another execution may have ended the tuning and
	 * cleared `busy`.
	 */
	if (!atomic_load(&t->wait))
		return t;
	atomic_store(&t->busy, false);
	return NULL;
}

/* Sums all times of a step except the two longest times, which other programs may have caused. */
static uint64_t sum_usual(const uint64_t ns[WAY_RUNS])
{
	uint64_t sum = 0, longest = 0, second = 0;

	for (uint32_t i = 0; i < WAY_RUNS; i++) {
		sum += ns[i];
		if (ns[i] >= longest) {
			second = longest;
			longest = ns[i];
		} else if (ns[i] > second) {
			second = ns[i];
		}
	}
	return sum - longest - second;
}

/*
 * Return whether the current run of the second phase uses the proposed numbers of threads, and
 * whether the time of the run counts.
 */
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
		     is_proposed(t) && t->steps[step].alone;

	return alone ? 1 : threads;
}

void tuning_add(struct tuning *t, uint32_t step, uint64_t ns)
{
	t->run_ns += ns;
	if (t->runs < STEP_RUNS)
		t->steps[step].ns[t->runs % WAYS][t->runs / WAYS] = ns;
}

/*
 * Ends the first phase of tuning: proposes one thread for each step that was faster on one thread.
 * Returns false if no step was faster on one thread, which makes the second phase unnecessary.
 */
static bool propose(struct tuning *t)
{
	bool any = false;

	for (uint32_t i = 0; i < t->num_steps; i++) {
		struct step_times *s = &t->steps[i];

		s->alone = sum_usual(s->ns[ALONE]) < sum_usual(s->ns[ALL]);
		any |= s->alone;
	}
	return any;
}

/* Records the time of a run of the second phase, if the run counts. */
static void note(struct tuning *t)
{
	const uint32_t round = (t->runs - STEP_RUNS) / ROUND_RUNS;

	if (counts(t))
		(is_proposed(t) ? t->proposed_ns : t->was_ns)[round] = t->run_ns;
}

static bool has_won(const struct tuning *t)
{
	uint32_t wins = 0, pairs = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		wins += t->proposed_ns[i] < t->was_ns[i];
		for (uint32_t k = 0; k < ROUNDS; k++)
			pairs += t->proposed_ns[i] < t->was_ns[k];
	}
	return wins >= WINS || pairs >= PAIRS;
}

/* Sets the number of threads of each step until the plan is tuned again. */
static void finish(struct compiled *c)
{
	struct tuning *t = c->tuning;
	const bool won = t->runs == NN_PLAN_TUNING && has_won(t);

	for (uint32_t i = 0; i < t->num_steps; i++)
		atomic_store_explicit(&c->steps[i].threads, won && t->steps[i].alone,
				      memory_order_relaxed);
	t->runs = 0;
	atomic_store(&t->wait, NN_PLAN_AGAIN);
	atomic_store(&t->done, true);
}

void tuning_end(struct compiled *c, bool succeeded)
{
	struct tuning *t = c->tuning;

	if (succeeded) {
		if (t->runs >= STEP_RUNS)
			note(t);
		t->runs++;
		if (t->runs == NN_PLAN_TUNING || (t->runs == STEP_RUNS && !propose(t)))
			finish(c);
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
	if (c->tuning) {
		atomic_store(&c->tuning->wait, NN_PLAN_AGAIN);
		atomic_store(&c->tuning->done, true);
	}
	return true;
}
