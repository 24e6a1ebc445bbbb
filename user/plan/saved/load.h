/* SPDX-License-Identifier: MIT */
/*
 * Loading a plan the long way: by checking and compiling its model.
 */
#ifndef NN_PLAN_LOAD_H
#define NN_PLAN_LOAD_H

#include "plan/saved/saved.h"

/*
 * The plan of parts whose header was checked, of a wire form. The data part is not read, and is
 * NULL where its size is 0.
 */
enum nn_status plan_load_whole(const struct saved_header *h, const void *model, const void *data,
			       const struct nn_plan_options *options, struct nn_plan **plan,
			       struct nn_error *err);

#endif /* NN_PLAN_LOAD_H */
