/* SPDX-License-Identifier: MIT */
/*
 * Prints the library's settings for this CPU and their origin.
 */
#ifndef NN_BENCH_CALIBRATE_H
#define NN_BENCH_CALIBRATE_H

#include <stdio.h>

/*
 * Writes lines of: name, value, unit, and whether it was asked of the CPU or system, is fixed or
 * was measured. Starts the threads.
 */
void bench_calibrate(FILE *out);

#endif /* NN_BENCH_CALIBRATE_H */
