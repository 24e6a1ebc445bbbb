/* SPDX-License-Identifier: MIT */
/*
 * The engine's clock.
 */
#ifndef NN_KIT_CLOCK_H
#define NN_KIT_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns. */
static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif /* NN_KIT_CLOCK_H */
