/* SPDX-License-Identifier: MIT */
/*
 * Lets a test change the rate of CLOCK_MONOTONIC for the test program and the program's libraries.
 * Only one file of a program may include clock_rate.h.
 */
#ifndef NN_TESTS_CLOCK_RATE_H
#define NN_TESTS_CLOCK_RATE_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* After the real time `real_ns`, the test's clock runs `rate` times as fast as the real clock. */
struct clock_pace {
	uint64_t real_ns, told_ns;
	double rate;
};

static _Atomic(const struct clock_pace *) clock_pace;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
	const struct clock_pace *p = clock_pace;
	int result = (int)syscall(SYS_clock_gettime, clock, now);
	uint64_t ns;

	if (result || clock != CLOCK_MONOTONIC || !p)
		return result;
	ns = (uint64_t)now->tv_sec * NS_PER_S + (uint64_t)now->tv_nsec - p->real_ns;
	ns = p->told_ns + (uint64_t)((double)ns * p->rate);
	*now = (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	return 0;
}

/* Sets the rate of the test's clock; 1 is the rate of the real clock. Not thread-safe. */
static inline void set_clock_rate(double rate)
{
	static struct clock_pace paces[2];
	struct clock_pace *next = &paces[clock_pace == &paces[0]];
	struct timespec real;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &real);
	next->told_ns = clock_ns();
	next->real_ns = (uint64_t)real.tv_sec * NS_PER_S + (uint64_t)real.tv_nsec;
	next->rate = rate;
	clock_pace = next;
}

static inline void stop_clock_after(uint64_t ns)
{
	static struct clock_pace paces[2];
	struct clock_pace *next = &paces[clock_pace == &paces[0]];

	next->told_ns = clock_ns() + ns;
	next->real_ns = 0;
	next->rate = 0;
	clock_pace = next;
}

#endif /* NN_TESTS_CLOCK_RATE_H */
