/* SPDX-License-Identifier: MIT */
/*
 * Makes plans of saved parts. A serialised plan is checked but not compiled; a saved model is
 * compiled.
 */
#ifndef NN_PLAN_RESTORE_H
#define NN_PLAN_RESTORE_H

#include "plan/internal.h"
#include "plan/saved/saved.h"

/*
 * Makes a plan of a model part that has a serialised plan and whose header was checked. On success
 * the plan owns `part`, which came from malloc(); on failure the caller still owns it.
 */
enum nn_status plan_restore(struct saved_header *part, const void *data,
			    const struct nn_plan_options *options, struct nn_plan **plan,
			    struct nn_error *err);

/*
 * Makes a plan of parts whose header was checked. The data part is not read; it is NULL if its size
 * is 0.
 */
enum nn_status plan_load_whole(const struct saved_header *h, const void *model, const void *data,
			       const struct nn_plan_options *options, struct nn_plan **plan,
			       struct nn_error *err);

/* Frees a plan that was restored. */
void restored_free(struct nn_plan *plan);

/* Returns the model part from which the plan was loaded. */
const struct saved_header *restored_part(const struct restored *t);

/* Returns the data part from which the plan was loaded. */
const void *restored_data(const struct restored *t);

#endif /* NN_PLAN_RESTORE_H */
