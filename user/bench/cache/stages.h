/* SPDX-License-Identifier: MIT */
/* Measures how much faster a tuned saved plan runs than an untuned saved plan. */
#ifndef NN_BENCH_STAGES_H
#define NN_BENCH_STAGES_H

/*
 * Runs networks alternately from plans saved before and after tuning; prints a figure for each
 * network.
 */
void bench_stages(void);

#endif /* NN_BENCH_STAGES_H */
