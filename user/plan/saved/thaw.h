/* SPDX-License-Identifier: MIT */
/*
 * Plans of saved parts: of frozen forms, of which nothing is compiled and all is checked, or of
 * models.
 */
#ifndef NN_PLAN_THAW_H
#define NN_PLAN_THAW_H

#include "plan/internal.h"
#include "plan/saved/saved.h"

/*
 * Makes a plan of a model part that has a frozen form and whose header was checked.
 * The part, from malloc(), is the plan's from then on; it stays the caller's where
 * that fails.
 */
enum nn_status plan_thaw(struct saved_header *part, const void *data,
			 const struct nn_plan_options *options, struct nn_plan **plan,
			 struct nn_error *err);

/*
 * The plan of parts whose header was checked, of a wire form. The data part is not read, and is
 * NULL where its size is 0.
 */
enum nn_status plan_load_whole(const struct saved_header *h, const void *model, const void *data,
			       const struct nn_plan_options *options, struct nn_plan **plan,
			       struct nn_error *err);

/* Frees a plan that was thawed. */
void thawed_free(struct nn_plan *plan);

/* Returns the model part from which the plan was loaded. */
const struct saved_header *thawed_part(const struct thawed *t);

/* Returns the data part from which the plan was loaded. */
const void *thawed_data(const struct thawed *t);

#endif /* NN_PLAN_THAW_H */
