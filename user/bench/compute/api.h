/* SPDX-License-Identifier: MIT */
/*
 * Measures the calls of the NNAPI, and the memory of a process.
 */
#ifndef NN_BENCH_API_H
#define NN_BENCH_API_H

#include <android/NeuralNetworks.h>

/* Exits with a message if `result` is an error code of the NNAPI. */
void api_must(int result, const char *what);

ANeuralNetworksDevice *api_cpu_device(void);

/* Returns the median time of a nearly empty execution through the API. */
double api_empty_model_ns(void);

/* Returns the peak resident memory that this process has reached so far. */
long peak_rss_kib(void);

#endif /* NN_BENCH_API_H */
