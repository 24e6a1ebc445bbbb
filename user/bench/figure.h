/* SPDX-License-Identifier: MIT */
/*
 * The output format of every benchmark: lines of tab-separated values.
 */
#ifndef NN_BENCH_FIGURE_H
#define NN_BENCH_FIGURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

static inline void figure_head(void)
{
	puts("figure\tvalue\tunit\tpeer\tpeer_value\tratio\twhere");
}

/*
 * Prints a figure, and a competitor's figure from the same run; `peer` is NULL without a
 * competitor.
 */
static inline void figure(const char *name, double value, const char *unit, const char *peer,
			  double peer_value, const char *where)
{
	if (peer)
		printf("%s\t%.4g\t%s\t%s\t%.4g\t%.3f\t%s\n", name, value, unit, peer, peer_value,
		       value / peer_value, where);
	else
		printf("%s\t%.4g\t%s\tnone\t-\t-\t%s\n", name, value, unit, where);
	fflush(stdout);
}

/* Sleeps. */
static inline void figure_idle(uint64_t ns)
{
	const struct timespec pause = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

	nanosleep(&pause, NULL);
}

static inline int figure_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the samples, and returns the quantile `part`: the median if `part` is 0.5. */
static inline double figure_quantile(double *samples, size_t count, double part)
{
	qsort(samples, count, sizeof(*samples), figure_compare);
	return samples[(size_t)(part * (double)(count - 1))];
}

#endif /* NN_BENCH_FIGURE_H */
