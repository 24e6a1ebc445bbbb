/* SPDX-License-Identifier: MIT */
/*
 * Limits log lines: a place in the code reports each cause of failure only once.
 */
#ifndef NN_BASE_FIRST_H
#define NN_BASE_FIRST_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Returns whether this is the first call with this cause, a number below 32. `met` has a bit for
 * each cause.
 */
static inline bool first_time(atomic_uint *met, int cause)
{
	unsigned int bit = 1u << (cause & 31);

	return !(atomic_fetch_or(met, bit) & bit);
}

#endif /* NN_BASE_FIRST_H */
