/* SPDX-License-Identifier: MIT */
/* Tests the bounds of fields in saved steps: values at the bounds and values beyond the bounds. */
#ifndef NN_TESTS_PLAN_DIFF_BOUNDS_H
#define NN_TESTS_PLAN_DIFF_BOUNDS_H

#include "tests/serialised_plan.h"

/*
 * Checks a step that the step's kernel accepts with `bounds`; operands have exactly the size that
 * the step needs. A step is rejected if a word is beyond the bounds of any field of the kernel's
 * table. A step with a word at the word's bounds is accepted, unless another field has narrower
 * bounds. A step with an operand that is one byte too small is rejected. Returns the number of
 * steps that were tried.
 */
uint32_t check_bounds(const struct form_steps *s, const struct nn_bounds *bounds);

#endif /* NN_TESTS_PLAN_DIFF_BOUNDS_H */
