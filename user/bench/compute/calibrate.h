/* SPDX-License-Identifier: MIT */
/*
 * What the library goes by on this CPU, and where it has it from.
 */
#ifndef NN_BENCH_CALIBRATE_H
#define NN_BENCH_CALIBRATE_H

/* Writes lines of: name, value, unit, and whether it was asked of the CPU or system or is fixed. */
void bench_calibrate(void);

#endif /* NN_BENCH_CALIBRATE_H */
