/* SPDX-License-Identifier: MIT */
/*
 * The clock that deadlines and patience are measured by.
 */
#ifndef NN_BASE_CLOCK_H
#define NN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

/* CLOCK_MONOTONIC in ns. */
static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif /* NN_BASE_CLOCK_H */
