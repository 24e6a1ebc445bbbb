/* SPDX-License-Identifier: MIT */
/*
 * Converts accumulators to quantised outputs with AVX-512. The results equal NNAPI's fixed-point
 * arithmetic bit for bit, with ten instructions for sixteen values.
 */
#ifndef NN_PLAN_KERNELS_Q8_AVX512_H
#define NN_PLAN_KERNELS_Q8_AVX512_H

#include <immintrin.h>

#include "plan/kernels/isa_x86.h"
#include "plan/kernels/unroll.h"

/*
 * The type of accumulators. With __m512i, whose elements have 64 bits, gcc copies vectors when
 * 32-bit elements are added, and has too few registers.
 */
typedef int32_t i32x16 __attribute__((vector_size(64)));

/* The fields of struct nn_q8_scale, without the bias, as vectors. */
struct q8_scale {
	__m512i multiplier;
	__m512i multiplier_odd;
	__m512i shift;
	__m512i round_even;
	__m512i round_odd;
	__mmask16 shifts;		/* mask of the channels whose shift is not 0 */
};

static inline ALWAYS_INLINE NN_TARGET_AVX512 struct q8_scale
q8_scale_load(const struct nn_q8_scale *s)
{
	const __m512i multiplier = _mm512_loadu_si512(s->multiplier);
	const __m512i shift = _mm512_loadu_si512(s->shift);

	return (struct q8_scale){
		.multiplier = multiplier,
		.multiplier_odd = _mm512_srli_epi64(multiplier, 32),
		.shift = shift,
		.round_even = _mm512_loadu_si512(s->round_even),
		.round_odd = _mm512_loadu_si512(s->round_odd),
		.shifts = _mm512_test_epi32_mask(shift, shift),
	};
}

/*
 * Scales accumulators. In the 64-bit product 2 * acc * multiplier, the upper 32 bits are acc *
 * multiplier / 2^31. The rounding terms add half a unit in the last place of the upper half, and
 * half a unit in the last place of the shifted result. Negative ties are rounded away from zero,
 * unless all negative values become the same byte.
 */
static inline ALWAYS_INLINE NN_TARGET_AVX512 __m512i q8_scaled(__m512i acc,
							       const struct q8_scale *s,
							       bool positive)
{
	const __m512i twice = _mm512_add_epi32(acc, acc);
	__m512i even = _mm512_mul_epi32(twice, s->multiplier);
	__m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(twice, 32), s->multiplier_odd);

	even = _mm512_add_epi64(even, s->round_even);
	odd = _mm512_add_epi64(odd, s->round_odd);
	odd = _mm512_castps_si512(_mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555,
							  _mm512_castsi512_ps(even)));
	if (!positive)
		odd = _mm512_add_epi32(odd, _mm512_maskz_srai_epi32(s->shifts, acc, 31));
	return _mm512_srav_epi32(odd, s->shift);
}

/*
 * Stores two vectors of scaled values of one row as up to 32 bytes. The function
 * _mm512_packs_epi32() alternates four values of x0 with four of x1, which is the order of the
 * columns.
 */
static inline ALWAYS_INLINE NN_TARGET_AVX512 void q8_store_two(uint8_t *c, __m512i x0, __m512i x1,
							       const struct nn_q8_output *o,
							       size_t columns)
{
	__m512i x = _mm512_packs_epi32(x0, x1);

	x = _mm512_adds_epi16(x, _mm512_set1_epi16((int16_t)o->zero));
	x = _mm512_max_epi16(x, _mm512_set1_epi16((int16_t)o->low));
	x = _mm512_min_epi16(x, _mm512_set1_epi16((int16_t)o->high));
	/* A masked store takes several times as long as a store without a mask. */
	if (columns >= 2 * 16)
		_mm256_storeu_si256((__m256i *)c, _mm512_cvtepi16_epi8(x));
	else
		_mm256_mask_storeu_epi8(c, (1u << columns) - 1, _mm512_cvtepi16_epi8(x));
}

#endif /* NN_PLAN_KERNELS_Q8_AVX512_H */
