/* SPDX-License-Identifier: MIT */
/*
 * Estimates the speed of networks on more CPUs than this machine has. For thread numbers up to the
 * number of this machine's CPUs, the output compares estimates with measurements.
 */
#ifndef NN_BENCH_SCHEDULE_H
#define NN_BENCH_SCHEDULE_H

#include <stdbool.h>

/*
 * Writes lines of network, threads, tasks, estimated time in us, estimated speed-up, measured time
 * and measured speed-up ("-" if the machine has too few CPUs). Writes the costs of sharing work
 * between threads to standard error. Returns false on a machine with one CPU, where the costs of
 * sharing work between threads cannot be measured.
 */
bool bench_schedule(void);

#endif /* NN_BENCH_SCHEDULE_H */
