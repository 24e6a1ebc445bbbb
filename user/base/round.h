/* SPDX-License-Identifier: MIT */
/* Rounds sizes up to a multiple of a unit. */
#ifndef NN_BASE_ROUND_H
#define NN_BASE_ROUND_H

#include <stdint.h>

/*
 * Returns the least multiple of `unit` that is not below `size`. The multiple must be below 2^64.
 */
static inline uint64_t round_up(uint64_t size, uint64_t unit)
{
	return (size + unit - 1) / unit * unit;
}

#endif /* NN_BASE_ROUND_H */
