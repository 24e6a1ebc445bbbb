/* SPDX-License-Identifier: MIT */
/* Measures several processes that each run a network without pause. */
#ifndef NN_BENCH_CLIENTS_H
#define NN_BENCH_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Prints figures clients_N of N client processes that run MobileNetV2 in float32 with `threads`
 * threads each. One figure divides the runs per second of all clients by the runs per second of a
 * single client. Another figure divides the runs of the slowest client by an equal share of all
 * clients' runs. The calling process must not have threads. Returns false if a client process could
 * not be started.
 */
bool bench_clients(uint32_t threads, const char *where);

#endif /* NN_BENCH_CLIENTS_H */
