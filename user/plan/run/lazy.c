/* SPDX-License-Identifier: MIT */
/*
 * Lazy plans. A lazy plan is a model that was checked but not compiled. The first execution of a
 * lazy plan compiles the model.
 */
#include <pthread.h>
#include <stdlib.h>

#include "plan/compiled.h"
#include "plan/internal.h"
#include "plan/run/tuning.h"

struct lazy {
	struct nn_plan_options options;
	pthread_mutex_t lock;
	bool tried;			/* under the lock */
	struct nn_plan *owned;		/* the compiled plan, or NULL */
	/* plan that is executed, which is `owned`, or the lazy plan itself if compiling failed */
	_Atomic(const struct nn_plan *) plan;
};

bool lazy_create(struct nn_plan *plan, const struct nn_plan_options *options)
{
	struct lazy *lazy = calloc(1, sizeof(*lazy));

	if (!lazy)
		return false;
	lazy->options = *options;
	lazy->options.lazy = false;
	lazy->options.deadline_ns = 0;
	pthread_mutex_init(&lazy->lock, NULL);
	plan->lazy = lazy;
	return true;
}

void lazy_free(struct lazy *lazy)
{
	if (!lazy)
		return;
	nn_plan_free(lazy->owned);
	pthread_mutex_destroy(&lazy->lock);
	free(lazy);
}

const struct nn_plan *lazy_get(const struct nn_plan *plan)
{
	struct lazy *lazy = plan->lazy;
	const struct nn_plan *made;

	if (!lazy)
		return plan;
	made = atomic_load_explicit(&lazy->plan, memory_order_acquire);
	if (made)
		return made;
	pthread_mutex_lock(&lazy->lock);
	if (!lazy->tried) {
		lazy->tried = true;
		made = nn_plan_create(plan->model, &lazy->options, &lazy->owned, NULL) ? plan :
		       lazy->owned;
		atomic_store_explicit(&lazy->plan, made, memory_order_release);
	}
	pthread_mutex_unlock(&lazy->lock);
	return atomic_load(&lazy->plan);
}

const struct nn_plan *lazy_plan(const struct nn_plan *plan)
{
	const struct nn_plan *made = plan->lazy ? atomic_load(&plan->lazy->plan) : plan;

	return made ? made : plan;
}

enum nn_plan_stage nn_plan_stage(const struct nn_plan *plan)
{
	if (plan->lazy && !atomic_load(&plan->lazy->plan))
		return NN_PLAN_PUT_OFF;
	plan = lazy_plan(plan);
	return plan->compiled && tuning_is_done(plan->compiled->tuning) ? NN_PLAN_TUNED :
	       NN_PLAN_READY;
}
