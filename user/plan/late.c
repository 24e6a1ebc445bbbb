/* SPDX-License-Identifier: MIT */
/*
 * Lazy plans: a checked model that the first execution makes the real plan of.
 */
#include <pthread.h>
#include <stdlib.h>

#include "compiled.h"
#include "late.h"
#include "tuning.h"

struct late {
	struct nn_plan_options options;
	pthread_mutex_t lock;
	bool tried;			/* under the lock */
	struct nn_plan *owned;		/* what was made */
	_Atomic(const struct nn_plan *) plan;	/* it, or the lazy plan where that failed */
};

bool late_create(struct nn_plan *plan, const struct nn_plan_options *options)
{
	struct late *late = calloc(1, sizeof(*late));

	if (!late)
		return false;
	late->options = *options;
	late->options.lazy = false;
	late->options.deadline_ns = 0;
	pthread_mutex_init(&late->lock, NULL);
	plan->late = late;
	return true;
}

void late_free(struct late *late)
{
	if (!late)
		return;
	nn_plan_free(late->owned);
	pthread_mutex_destroy(&late->lock);
	free(late);
}

const struct nn_plan *late_get(const struct nn_plan *plan)
{
	struct late *late = plan->late;
	const struct nn_plan *made;

	if (!late)
		return plan;
	made = atomic_load_explicit(&late->plan, memory_order_acquire);
	if (made)
		return made;
	pthread_mutex_lock(&late->lock);
	if (!late->tried) {
		late->tried = true;
		made = nn_plan_create(plan->model, &late->options, &late->owned, NULL) ? plan :
		       late->owned;
		atomic_store_explicit(&late->plan, made, memory_order_release);
	}
	pthread_mutex_unlock(&late->lock);
	return atomic_load(&late->plan);
}

const struct nn_plan *late_plan(const struct nn_plan *plan)
{
	const struct nn_plan *made = plan->late ? atomic_load(&plan->late->plan) : plan;

	return made ? made : plan;
}

enum nn_plan_stage nn_plan_stage(const struct nn_plan *plan)
{
	if (plan->late && !atomic_load(&plan->late->plan))
		return NN_PLAN_PUT_OFF;
	plan = late_plan(plan);
	return plan->compiled && tuning_is_done(plan->compiled->tuning) ? NN_PLAN_TUNED :
	       NN_PLAN_READY;
}
