/* SPDX-License-Identifier: MIT */
/* Prints the library's settings for this CPU and the origin of each setting. */
#ifndef NN_BENCH_CALIBRATE_H
#define NN_BENCH_CALIBRATE_H

#include <stdio.h>

/*
 * Prints lines of a name, a value, a unit, and an origin: the CPU, the system, fixed, or measured.
 * Starts the library's threads.
 */
void bench_calibrate(FILE *out);

#endif /* NN_BENCH_CALIBRATE_H */
