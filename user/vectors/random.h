/* SPDX-License-Identifier: MIT */
/* Random numbers for tests: equal seeds give equal numbers. */
#ifndef NN_VECTORS_RANDOM_H
#define NN_VECTORS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

void random_start(uint64_t seed);

/* 31 of them. */
uint32_t random_bits(void);

/* low ... high */
uint32_t pick(uint32_t low, uint32_t high);

bool chance(uint32_t one_in);

float random_float(float low, float high);

#endif /* NN_VECTORS_RANDOM_H */
