/* SPDX-License-Identifier: MIT */
/*
 * Executions of a thawed plan on arguments that its kernels cannot take unchanged.
 */
#ifndef NN_PLAN_STAGED_H
#define NN_PLAN_STAGED_H

#include "plan/internal.h"

/*
 * Does the work of nn_plan_execute() if compiled_execute() does not take the arguments: says what
 * is wrong with them, or runs the plan on aligned copies.
 */
enum nn_status staged_execute(const struct nn_plan *plan, struct nn_execution *e,
			      struct nn_error *err);

#endif /* NN_PLAN_STAGED_H */
