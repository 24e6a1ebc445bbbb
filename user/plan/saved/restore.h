/* SPDX-License-Identifier: MIT */
/*
 * Makes plans from the parts of saved plans. A serialised plan is checked but not compiled; a saved
 * model is checked and compiled.
 */
#ifndef NN_PLAN_RESTORE_H
#define NN_PLAN_RESTORE_H

#include "plan/internal.h"
#include "plan/saved/saved.h"

/*
 * Makes a plan from a model part that has a serialised plan; the part's header was already checked.
 * On success the plan owns the model part `part`, which must be from malloc(); on failure the
 * caller still owns `part`.
 */
enum nn_status plan_restore(struct saved_header *part, const void *data,
			    const struct nn_plan_options *options, struct nn_plan **plan,
			    struct nn_error *err);

/*
 * Makes a plan from a model part that has a model; the part's header was already checked.
 * The function plan_load_whole() does not read the data part; `data` is NULL if the size of the
 * data part is 0.
 */
enum nn_status plan_load_whole(const struct saved_header *h, const void *model, const void *data,
			       const struct nn_plan_options *options, struct nn_plan **plan,
			       struct nn_error *err);

void restored_free(struct nn_plan *plan);

/* Returns the model part from which the plan was loaded. */
const struct saved_header *restored_part(const struct restored *t);

/* Returns the data part from which the plan was loaded. */
const void *restored_data(const struct restored *t);

#endif /* NN_PLAN_RESTORE_H */
