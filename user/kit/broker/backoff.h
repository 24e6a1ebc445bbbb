/* SPDX-License-Identifier: MIT */
/*
 * Computes when to retry after failures: the wait begins at 1 s and doubles with each further
 * failure, up to 64 s. A zeroed struct backoff allows an immediate try. The caller passes the
 * current time, and zeroes `failures` after a success.
 */
#ifndef NN_KIT_BACKOFF_H
#define NN_KIT_BACKOFF_H

#include <stdint.h>

#include "base/clock.h"

struct backoff {
	unsigned int failures;		/* number of failures in a row */
	uint64_t until_ns;		/* time before which no retry may happen */
};

static inline void backoff_fail(struct backoff *backoff, uint64_t now_ns)
{
	const unsigned int last = 6, n = backoff->failures;

	backoff->until_ns = now_ns + (NS_PER_S << (n < last ? n : last));
	if (n < last)
		backoff->failures++;
}

#endif /* NN_KIT_BACKOFF_H */
