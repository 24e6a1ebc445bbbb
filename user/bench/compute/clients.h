/* SPDX-License-Identifier: MIT */
/* Measures several processes that each run a network without pause. */
#ifndef NN_BENCH_CLIENTS_H
#define NN_BENCH_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Prints figures clients_N of N processes that run MobileNetV2 in float32 with `threads` threads
 * each. It compares the runs per second of all clients together with those of a single client, and
 * of the slowest client with an equal share. Call it before threads exist. Returns false if a
 * process could not be started.
 */
bool bench_clients(uint32_t threads, const char *where);

#endif /* NN_BENCH_CLIENTS_H */
