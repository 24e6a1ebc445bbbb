/* SPDX-License-Identifier: MIT */
/*
 * What a burst costs through the module and the engine.
 */
#ifndef NN_BENCH_BURST_MODULE_H
#define NN_BENCH_BURST_MODULE_H

/* Prints the figures of a machine with the module: by time, and by instructions. */
int bench_by_time(void);
int bench_by_instructions(void);

#endif /* NN_BENCH_BURST_MODULE_H */
