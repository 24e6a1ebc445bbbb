/* SPDX-License-Identifier: MIT */
/*
 * Measures the gain of a saved plan's second stage.
 */
#ifndef NN_BENCH_STAGES_H
#define NN_BENCH_STAGES_H

/*
 * Runs networks from what was saved when they were prepared and from what was saved when
 * they had tuned themselves, in turn; prints a figure of each.
 */
void bench_stages(void);

#endif /* NN_BENCH_STAGES_H */
