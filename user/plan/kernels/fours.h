/* SPDX-License-Identifier: MIT */
/*
 * Transposes blocks of four by four 32-bit elements, for packing weights.
 */
#ifndef NN_PLAN_KERNELS_FOURS_H
#define NN_PLAN_KERNELS_FOURS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/kernels/unroll.h"

typedef uint32_t four __attribute__((vector_size(16)));

/* Loads four rows of four elements; the rows begin `step` bytes apart. */
static inline void load_fours(const void *from, size_t step, four x[4])
{
	UNROLL
	for (size_t i = 0; i < 4; i++)
		memcpy(&x[i], (const char *)from + i * step, sizeof(x[i]));
}

static inline void store_fours(void *to, size_t step, const four x[4])
{
	UNROLL
	for (size_t i = 0; i < 4; i++)
		memcpy((char *)to + i * step, &x[i], sizeof(x[i]));
}

static inline void transpose_fours(four x[4])
{
	const four ab_low = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
	const four ab_high = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
	const four cd_low = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
	const four cd_high = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);

	x[0] = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
	x[1] = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
	x[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
	x[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

#endif /* NN_PLAN_KERNELS_FOURS_H */
