/* SPDX-License-Identifier: MIT */
/*
 * An assertion that a value lies between two bounds. Versions 1 and 2 of cmocka have different
 * names for an assertion of a range.
 */
#ifndef NN_TESTS_BETWEEN_H
#define NN_TESTS_BETWEEN_H

#include <stdint.h>

/* Fails unless low <= value <= high, after converting the three values to intmax_t. */
#define assert_between(value, low, high) do {						\
	const intmax_t between_value = (intmax_t)(value);				\
	const intmax_t between_low = (intmax_t)(low), between_high = (intmax_t)(high);	\
	if (between_value < between_low || between_value > between_high)		\
		fail_msg("%s: %jd is not in %jd to %jd", #value, between_value,		\
			 between_low, between_high);					\
} while (0)

#endif /* NN_TESTS_BETWEEN_H */
