/* SPDX-License-Identifier: MIT */
/*
 * Tuning of a compiled plan that is hot: each step on all threads or on one,
 * whichever was faster in the executions that measured it.
 */
#include <stdlib.h>

#include "base/tuned.h"
#include "tuning.h"

_Static_assert(NN_PLAN_HOT + NN_PLAN_TUNING < TUNED_EXECUTIONS, "clients save too early");

enum way { ALL, ALONE, WAYS };

struct tuning {
	_Atomic(uint32_t) executions;	/* up to NN_PLAN_HOT */
	atomic_bool busy;		/* an execution measures: what follows is its own */
	atomic_bool done;
	uint32_t runs;			/* that measured; even ones on all threads */
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

uint32_t tuning_threads(const struct tuning *t, uint32_t threads)
{
	return t->runs % WAYS == ALONE ? 1 : threads;
}

void tuning_add(struct tuning *t, uint32_t step, uint64_t ns)
{
	uint64_t *best = &t->best_ns[step * WAYS + t->runs % WAYS];

	if (*best > ns)
		*best = ns;
}

void tuning_end(struct compiled *c, bool succeeded)
{
	struct tuning *t = c->tuning;

	if (succeeded && ++t->runs == NN_PLAN_TUNING) {
		for (uint32_t i = 0; i < t->num_steps; i++) {
			const uint64_t *best = &t->best_ns[i * WAYS];

			atomic_store_explicit(&c->steps[i].threads, best[ALONE] < best[ALL],
					      memory_order_relaxed);
		}
		atomic_store(&t->done, true);
	}
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
