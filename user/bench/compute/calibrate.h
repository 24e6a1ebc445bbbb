/* SPDX-License-Identifier: MIT */
/* Prints settings that the library has chosen for this CPU, and the origin of each setting. */
#ifndef NN_BENCH_CALIBRATE_H
#define NN_BENCH_CALIBRATE_H

#include <stdio.h>

/*
 * Prints lines of a name, a value, a unit, and an origin; the origin is the CPU, the system, fixed,
 * or measured. Printing the settings starts the library's threads.
 */
void bench_calibrate(FILE *out);

#endif /* NN_BENCH_CALIBRATE_H */
