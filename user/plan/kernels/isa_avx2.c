/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for x86 CPUs with AVX2 and FMA.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "plan/kernels/isa_x86.h"
#include "plan/kernels/quant8.h"

#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROWS 6
#define VF __m256
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_SOME(p, n) _mm256_maskload_ps(p, first_lanes(n))
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_SOME(p, v, n) _mm256_maskstore_ps(p, first_lanes(n), v)
#define SPLAT(x) _mm256_set1_ps(x)
#define MADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SQRT(a) _mm256_sqrt_ps(a)
#define MIN(a, b) _mm256_min_ps(a, b)
#define MAX(a, b) _mm256_max_ps(a, b)
#define TILES(T) T(6, 2) T(3, 2) T(1, 2) T(6, 1) T(3, 1) T(1, 1)

TARGET static inline __m256i first_lanes(size_t n)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
				  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "plan/kernels/loops_f32.h"

/* ---- Bytes ---- */

typedef int32_t sums_q8 __attribute__((vector_size(32)));
typedef int16_t wide_q8 __attribute__((vector_size(32)));

#define Q8_ROWS 6
#define DOT(a, b) ((sums_q8)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#define LOW_PAIRS(a, b) ((wide_q8)_mm256_unpacklo_epi16((__m256i)(a), (__m256i)(b)))
#define HIGH_PAIRS(a, b) ((wide_q8)_mm256_unpackhi_epi16((__m256i)(a), (__m256i)(b)))

/* NNAPI's fixed-point arithmetic, as q8_scaled() of q8_avx512.h has it. */
static inline ALWAYS_INLINE TARGET sums_q8 scale_q8(sums_q8 acc, const struct nn_q8_scale *s)
{
	const __m256i multiplier = _mm256_loadu_si256((const __m256i *)s->multiplier);
	const __m256i shift = _mm256_loadu_si256((const __m256i *)s->shift);
	const __m256i x = (__m256i)acc, twice = _mm256_add_epi32(x, x);
	const __m256i shifts = _mm256_cmpgt_epi32(shift, _mm256_setzero_si256());
	const __m256i sign = _mm256_and_si256(_mm256_srai_epi32(x, 31), shifts);
	__m256i even = _mm256_mul_epi32(twice, multiplier);
	__m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(twice, 32),
				       _mm256_srli_epi64(multiplier, 32));

	even = _mm256_add_epi64(even, _mm256_loadu_si256((const __m256i *)s->round_even));
	odd = _mm256_add_epi64(odd, _mm256_loadu_si256((const __m256i *)s->round_odd));
	odd = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
	return (sums_q8)_mm256_srav_epi32(_mm256_add_epi32(odd, sign), shift);
}

/* Up to 16 bytes of columns whose order packing undoes. */
static inline ALWAYS_INLINE TARGET void store_q8(uint8_t *out, sums_q8 x, sums_q8 y,
						 const struct nn_q8_output *o, size_t count)
{
	__m256i v = _mm256_packs_epi32((__m256i)x, (__m256i)y);
	__m128i bytes;

	v = _mm256_adds_epi16(v, _mm256_set1_epi16((int16_t)o->zero));
	v = _mm256_max_epi16(v, _mm256_set1_epi16((int16_t)o->low));
	v = _mm256_min_epi16(v, _mm256_set1_epi16((int16_t)o->high));
	v = _mm256_and_si256(v, _mm256_set1_epi16(0xff));
	bytes = _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	if (count >= 16)
		_mm_storeu_si128((__m128i *)out, bytes);
	else
		memcpy(out, &bytes, count);
}

#include "plan/kernels/loops_q8.h"

const struct nn_isa nn_isa_avx2 = {
	.name = "avx2",
	LOOPS_F32,
	LOOPS_Q8,
};

#endif
