/* SPDX-License-Identifier: MIT */
/* Compares ways in which client and worker of a burst wait for each other. */
#ifndef NN_BENCH_BURST_WAITS_H
#define NN_BENCH_BURST_WAITS_H

/*
 * Prints tab-separated values for simulated work of several lengths, on free and on shared CPUs.
 * For each way of waiting, the first value is the time that waiting adds to an execution. The
 * second value is the CPU time of client and worker divided by the length of the work. Returns an
 * exit status.
 */
int bench_waits(void);

#endif /* NN_BENCH_BURST_WAITS_H */
