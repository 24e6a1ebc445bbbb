/* SPDX-License-Identifier: MIT */
/*
 * Checks whether an output of the random graph is right: integers must be equal, floats nearly
 * equal.
 */
#ifndef NN_TESTS_PLAN_DIFF_COMPARE_H
#define NN_TESTS_PLAN_DIFF_COMPARE_H

#include <stdint.h>

float graph_element(const void *data, uint32_t i);

/* Returns the first wrong element of output number `output`, or -1. */
int64_t graph_differs(uint32_t output, const void *data, const void *right);

#endif /* NN_TESTS_PLAN_DIFF_COMPARE_H */
