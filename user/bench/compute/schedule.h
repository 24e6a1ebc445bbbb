/* SPDX-License-Identifier: MIT */
/*
 * What more threads than this machine has would make of networks, beside what those that it has make.
 */
#ifndef NN_BENCH_SCHEDULE_H
#define NN_BENCH_SCHEDULE_H

#include <stdbool.h>

/*
 * Writes lines of: network, threads, tasks, the model's us and speed-up, and those measured where
 * there are as many CPUs, else "-". The costs of sharing go to standard error. False: there is one
 * CPU, on which they cannot be measured.
 */
bool bench_schedule(void);

#endif /* NN_BENCH_SCHEDULE_H */
