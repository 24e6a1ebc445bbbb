/* SPDX-License-Identifier: MIT */
/*
 * Ways to wait for the other end of a burst, side by side.
 */
#ifndef NN_BENCH_BURST_WAITS_H
#define NN_BENCH_BURST_WAITS_H

/*
 * Prints tab-separated values for several lengths of work, on free and on shared CPUs: the time
 * that each way to wait adds to an execution, and the CPU time of both ends besides the work.
 * Returns an exit status.
 */
int bench_waits(void);

#endif /* NN_BENCH_BURST_WAITS_H */
