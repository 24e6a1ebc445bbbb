/* SPDX-License-Identifier: MIT */
/*
 * Lazy plans: a checked model that the first execution makes the real plan of.
 */
#ifndef NN_PLAN_LAZY_H
#define NN_PLAN_LAZY_H

#include "plan/internal.h"

/* Makes a plan, which is interpreted, lazy; false: no memory. */
bool lazy_create(struct nn_plan *plan, const struct nn_plan_options *options);
void lazy_free(struct lazy *lazy);

/* The plan to execute, made now if it was put off: the plan itself if it is not lazy. */
const struct nn_plan *lazy_get(const struct nn_plan *plan);

/* The same, but nothing is made: a lazy plan that was put off is itself. */
const struct nn_plan *lazy_plan(const struct nn_plan *plan);

#endif /* NN_PLAN_LAZY_H */
