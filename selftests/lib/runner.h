/* SPDX-License-Identifier: MIT */
/*
 * Reads the environment variables of the test runner: whether to run all parts of the tests, and
 * how much slower this machine is than an idle machine. The tests in user/ include runner.h too.
 */
#ifndef SELFTESTS_RUNNER_H
#define SELFTESTS_RUNNER_H

#include <stdlib.h>

/** how_often() - Returns how often to do something: @all with NNACCEL_ALL set, else @usual. */
static inline int how_often(int all, int usual)
{
	return getenv("NNACCEL_ALL") ? all : usual;
}

/**
 * scaled() - Returns a time limit, in any unit, lengthened for this machine
 *
 * Multiplies @time by NNACCEL_TIME_SCALE (default and minimum 1), which the test runner measures.
 */
static inline unsigned long long scaled(unsigned long long time)
{
	const char *text = getenv("NNACCEL_TIME_SCALE");
	double scale = text ? strtod(text, NULL) : 1;

	return (unsigned long long)((double)time * (scale > 1 ? scale : 1));
}

#endif
