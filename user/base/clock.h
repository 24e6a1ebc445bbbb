/* SPDX-License-Identifier: MIT */
/*
 * The clock of deadlines and timeouts.
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

/*
 * Returns the ms until then_ns, rounded up, as a timeout for poll(): 0 if then_ns has passed, -1 if
 * then_ns is UINT64_MAX.
 */
static inline int clock_ms_until(uint64_t then_ns)
{
	const uint64_t now_ns = clock_ns(), longest_ns = 1000 * NS_PER_S;

	if (then_ns == UINT64_MAX)
		return -1;
	if (then_ns <= now_ns)
		return 0;
	return (int)((then_ns - now_ns < longest_ns ? then_ns - now_ns : longest_ns) / 1000000) + 1;
}

#endif /* NN_BASE_CLOCK_H */
