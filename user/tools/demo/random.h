/* SPDX-License-Identifier: MIT */
/*
 * The demo's random numbers, by splitmix64. A seed yields equal numbers on all machines, and
 * therefore equal images and equal training results.
 */
#ifndef NN_DEMO_RANDOM_H
#define NN_DEMO_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_bits(struct random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Returns a uniform random number in [low, high), in steps of (high - low) * 2^-24. */
static inline float random_range(struct random *r, float low, float high)
{
	return low + (high - low) * ((float)(random_bits(r) >> 40) * 0x1p-24f);
}

/* Returns a uniform random number in 0 ... count - 1, for small counts. */
static inline uint32_t random_below(struct random *r, uint32_t count)
{
	return (uint32_t)(((random_bits(r) >> 32) * count) >> 32);
}

#endif /* NN_DEMO_RANDOM_H */
