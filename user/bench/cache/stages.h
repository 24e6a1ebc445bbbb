/* SPDX-License-Identifier: MIT */
/*
 * Measures the gain of a saved plan that was tuned.
 */
#ifndef NN_BENCH_STAGES_H
#define NN_BENCH_STAGES_H

/* Runs networks from plans saved before and after tuning, in turn; prints a figure of each. */
void bench_stages(void);

#endif /* NN_BENCH_STAGES_H */
