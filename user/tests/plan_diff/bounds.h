/* SPDX-License-Identifier: MIT */
/*
 * The bounds that field tables give saved steps, tried from both sides.
 */
#ifndef NN_TESTS_PLAN_DIFF_BOUNDS_H
#define NN_TESTS_PLAN_DIFF_BOUNDS_H

#include "tests/frozen_form.h"

/*
 * Checks a step that its kernel takes within `bounds`, whose operands have just the size that it needs.
 * Each word is refused beyond its bounds and beyond what other rows of the table ask of it. At its
 * bounds it is taken, if no other row asks for more. An operand that is a byte smaller is refused.
 * Returns the number of steps that were tried.
 */
uint32_t check_bounds(const struct form_steps *s, const struct nn_bounds *bounds);

#endif /* NN_TESTS_PLAN_DIFF_BOUNDS_H */
