/* SPDX-License-Identifier: MIT */
/*
 * Tests the bounds of the fields of saved steps, from both sides.
 */
#ifndef NN_TESTS_PLAN_DIFF_BOUNDS_H
#define NN_TESTS_PLAN_DIFF_BOUNDS_H

#include "tests/serialised_plan.h"

/*
 * Checks a step that its kernel accepts within `bounds`, whose operands have exactly the size that
 * it needs. Each word is rejected beyond its bounds, and beyond those of other rows of the table. A
 * word at its bounds is accepted, unless another row limits it more. An operand that is a byte
 * smaller is rejected. Returns the number of steps that were tried.
 */
uint32_t check_bounds(const struct form_steps *s, const struct nn_bounds *bounds);

#endif /* NN_TESTS_PLAN_DIFF_BOUNDS_H */
