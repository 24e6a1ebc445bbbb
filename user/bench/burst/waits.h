/* SPDX-License-Identifier: MIT */
/*
 * Ways to wait for the other end of a burst, side by side.
 */
#ifndef NN_BENCH_BURST_WAITS_H
#define NN_BENCH_BURST_WAITS_H

/*
 * Prints for several lengths of work, on CPUs that are free and on such that others want too, what
 * each way to wait adds to an execution and what both ends take of the CPUs besides the work, as
 * tab-separated values. An exit status.
 */
int bench_waits(void);

#endif /* NN_BENCH_BURST_WAITS_H */
