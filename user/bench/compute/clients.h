/* SPDX-License-Identifier: MIT */
/*
 * Several processes that run one network each, all of the time.
 */
#ifndef NN_BENCH_CLIENTS_H
#define NN_BENCH_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Figures clients_N, of N processes that run MobileNetV2 in float32 on as many threads: runs a
 * second of all, to those of one; and the one that got least, to its share. To be called before
 * there are threads. False: a process could not be made.
 */
bool bench_clients(uint32_t threads, const char *where);

#endif /* NN_BENCH_CLIENTS_H */
