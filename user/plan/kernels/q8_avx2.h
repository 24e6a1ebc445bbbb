/* SPDX-License-Identifier: MIT */
/*
 * Converts accumulators to quantised outputs with AVX2.
 */
#ifndef NN_PLAN_KERNELS_Q8_AVX2_H
#define NN_PLAN_KERNELS_Q8_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "plan/kernels/isa_x86.h"
#include "plan/kernels/unroll.h"

/*
 * Scales accumulators with NNAPI's fixed-point arithmetic. `positive` means that all negative
 * accumulators become the same byte.
 */
static inline ALWAYS_INLINE NN_TARGET_AVX2 __m256i
q8_scaled_avx2(__m256i acc, const struct nn_q8_scale *s, bool positive)
{
	const __m256i multiplier = _mm256_loadu_si256((const __m256i *)s->multiplier);
	const __m256i shift = _mm256_loadu_si256((const __m256i *)s->shift);
	const __m256i twice = _mm256_add_epi32(acc, acc);
	const __m256i shifts = _mm256_cmpgt_epi32(shift, _mm256_setzero_si256());
	__m256i even = _mm256_mul_epi32(twice, multiplier);
	__m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(twice, 32),
				       _mm256_srli_epi64(multiplier, 32));

	even = _mm256_add_epi64(even, _mm256_loadu_si256((const __m256i *)s->round_even));
	odd = _mm256_add_epi64(odd, _mm256_loadu_si256((const __m256i *)s->round_odd));
	odd = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
	if (!positive)
		odd = _mm256_add_epi32(odd, _mm256_and_si256(_mm256_srai_epi32(acc, 31), shifts));
	return _mm256_srav_epi32(odd, shift);
}

/* Converts 16 values of 16 bits to bytes in the order of columns. */
static inline ALWAYS_INLINE NN_TARGET_AVX2 __m128i q8_bytes_avx2(__m256i v,
								 const struct nn_q8_output *o)
{
	v = _mm256_adds_epi16(v, _mm256_set1_epi16((int16_t)o->zero));
	v = _mm256_max_epi16(v, _mm256_set1_epi16((int16_t)o->low));
	v = _mm256_min_epi16(v, _mm256_set1_epi16((int16_t)o->high));
	v = _mm256_and_si256(v, _mm256_set1_epi16(0xff));
	return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* Stores two vectors of scaled values of one row as up to 16 bytes, in the order of columns. */
static inline ALWAYS_INLINE NN_TARGET_AVX2 void
q8_store_two_avx2(uint8_t *out, __m256i x, __m256i y, const struct nn_q8_output *o, size_t count)
{
	const __m128i bytes = q8_bytes_avx2(_mm256_packs_epi32(x, y), o);

	if (count >= 16)
		_mm_storeu_si128((__m128i *)out, bytes);
	else
		memcpy(out, &bytes, count);
}

/* Stores one vector of scaled values, whose columns are in order, as up to 8 bytes. */
static inline ALWAYS_INLINE NN_TARGET_AVX2 void
q8_store_one_avx2(uint8_t *out, __m256i x, const struct nn_q8_output *o, size_t count)
{
	const __m128i bytes =
		q8_bytes_avx2(_mm256_permute4x64_epi64(_mm256_packs_epi32(x, x), 0x88), o);

	if (count >= 8)
		_mm_storel_epi64((__m128i *)out, bytes);
	else
		memcpy(out, &bytes, count);
}

#endif /* NN_PLAN_KERNELS_Q8_AVX2_H */
