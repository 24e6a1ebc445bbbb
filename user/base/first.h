/* SPDX-License-Identifier: MIT */
/* Limits log lines: each place in the code logs each cause of failure only once. */
#ifndef NN_BASE_FIRST_H
#define NN_BASE_FIRST_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Returns true for the first call with `cause`, a number below 32. `met` has a bit for each cause
 * that has occurred.
 */
static inline bool first_time(atomic_uint *met, int cause)
{
	unsigned int bit = 1u << (cause & 31);

	return !(atomic_fetch_or(met, bit) & bit);
}

#endif /* NN_BASE_FIRST_H */
