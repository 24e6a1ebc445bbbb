/* SPDX-License-Identifier: MIT */
/*
 * Estimates the speed of networks with more threads than this machine has, and checks the estimate
 * against the threads that it has.
 */
#ifndef NN_BENCH_SCHEDULE_H
#define NN_BENCH_SCHEDULE_H

#include <stdbool.h>

/*
 * Writes lines of: network, threads, tasks, the model's time in us and its speed-up, and the
 * measured numbers if there are enough CPUs, otherwise "-". Writes the costs of sharing to standard
 * error. Returns false on a machine with one CPU, where they cannot be measured.
 */
bool bench_schedule(void);

#endif /* NN_BENCH_SCHEDULE_H */
