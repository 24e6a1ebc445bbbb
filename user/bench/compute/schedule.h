/* SPDX-License-Identifier: MIT */
/*
 * Estimates the speed of networks on more CPUs than this machine has. For as many CPUs as this
 * machine has, estimates are compared with measurements.
 */
#ifndef NN_BENCH_SCHEDULE_H
#define NN_BENCH_SCHEDULE_H

#include <stdbool.h>

/*
 * Writes lines of network, threads, tasks, estimated time in us and speed-up, and measured time and
 * speed-up ("-" if the machine has too few CPUs). Writes the costs of sharing work to standard
 * error. Returns false on a machine with one CPU, where the costs of sharing cannot be measured.
 */
bool bench_schedule(void);

#endif /* NN_BENCH_SCHEDULE_H */
