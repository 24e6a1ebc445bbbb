/* SPDX-License-Identifier: MIT */
/*
 * Multiplies vectors by a factor like nn_srdhm(), for x86. The includer defines TARGET, LANES, the
 * type sums_q8, and MULTIPLY_EVEN, which computes 64-bit products of the even lanes.
 */
#if !defined(LANES) || !defined(MULTIPLY_EVEN) || !defined(TARGET)
#error "even_q31.h needs: LANES MULTIPLY_EVEN TARGET"
#endif

typedef uint64_t longs_q31 __attribute__((vector_size(4 * LANES)));

static inline ALWAYS_INLINE TARGET sums_q8 multiply_q31(sums_q8 x, int32_t factor)
{
	const sums_q8 factors = (sums_q8){ 0 } + factor, odd_x = (sums_q8)((longs_q31)x >> 32);
	const longs_q31 even = (longs_q31)MULTIPLY_EVEN(x, factors) + (1 << 30);
	const longs_q31 odd = (longs_q31)MULTIPLY_EVEN(odd_x, factors) + (1 << 30);

	return (sums_q8)((even >> 31 & UINT32_MAX) | (odd << 1 & ~(uint64_t)UINT32_MAX));
}
