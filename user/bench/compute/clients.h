/* SPDX-License-Identifier: MIT */
/* Several processes that each run one network all the time. */
#ifndef NN_BENCH_CLIENTS_H
#define NN_BENCH_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Prints figures clients_N of N processes that run MobileNetV2 in float32 with `threads` threads
 * each. It compares the runs per second of all clients with those of a single one, and of the
 * slowest with its share. Call it before threads are started. Returns false if a process could not
 * be made.
 */
bool bench_clients(uint32_t threads, const char *where);

#endif /* NN_BENCH_CLIENTS_H */
