/* SPDX-License-Identifier: MIT */
/*
 * A graph of random operations.
 */
#ifndef NN_TESTS_PLAN_DIFF_OPERATIONS_H
#define NN_TESTS_PLAN_DIFF_OPERATIONS_H

/* Makes a new graph from the seed of random_start(). */
void make_graph(void);

#endif /* NN_TESTS_PLAN_DIFF_OPERATIONS_H */
