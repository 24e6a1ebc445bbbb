/* SPDX-License-Identifier: MIT */
/*
 * Sizes rounded up to what they are multiples of.
 */
#ifndef NN_BASE_ROUND_H
#define NN_BASE_ROUND_H

#include <stdint.h>

/* The least multiple of `unit` that is not below `size`; it must fit. */
static inline uint64_t round_up(uint64_t size, uint64_t unit)
{
	return (size + unit - 1) / unit * unit;
}

#endif /* NN_BASE_ROUND_H */
