/* SPDX-License-Identifier: MIT */
/*
 * Estimates the speed of networks on more CPUs than this machine has, and compares estimates with
 * measurements for the CPUs that it has.
 */
#ifndef NN_BENCH_SCHEDULE_H
#define NN_BENCH_SCHEDULE_H

#include <stdbool.h>

/*
 * Writes lines of: network, threads, tasks, estimated time in us and speed-up, and the measured
 * time and speed-up ("-" if there are not enough CPUs). Writes the costs of sharing work to
 * standard error. Returns false on a machine with one CPU, where these costs cannot be measured.
 */
bool bench_schedule(void);

#endif /* NN_BENCH_SCHEDULE_H */
