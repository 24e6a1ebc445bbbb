/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for x86 CPUs with SSE4.1.
 */
#if defined(__x86_64__)

#include <math.h>
#include <smmintrin.h>
#include <string.h>

#include "plan/kernels/isa_x86.h"
#include "plan/kernels/quant8.h"

#define TARGET __attribute__((target("sse4.1")))
#define LANES 4
#define ROWS 4
#define VF __m128
#define LOAD(p) _mm_loadu_ps(p)
#define LOAD_SOME(p, n) load_some(p, n)
#define STORE(p, v) _mm_storeu_ps(p, v)
#define STORE_SOME(p, v, n) store_some(p, v, n)
#define SPLAT(x) _mm_set1_ps(x)
#define MADD(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define ADD(a, b) _mm_add_ps(a, b)
#define SQRT(a) _mm_sqrt_ps(a)
#define MIN(a, b) _mm_min_ps(a, b)
#define MAX(a, b) _mm_max_ps(a, b)
#define CHOOSE(mask, a, b) _mm_blendv_ps(b, a, (__m128)(mask))
#define INTS_OF_BYTES(b) ((ints_f32)_mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)(b))))
#define BYTES_OF_INTS(v) ((bytes_f32)_mm_cvtsi128_si32(_mm_shuffle_epi8((__m128i)(v), \
							_mm_set1_epi32(0x0c080400))))
#define TILES(T) T(4, 2) T(2, 2) T(1, 2) T(4, 1) T(2, 1) T(1, 1)

/*
 * Loads fewer than LANES floats. Taking n modulo LANES shows the compiler that the copy is small.
 */
TARGET static inline __m128 load_some(const float *p, size_t n)
{
	__m128 v = _mm_setzero_ps();

	memcpy(&v, p, n % LANES * sizeof(*p));
	return v;
}

TARGET static inline void store_some(float *p, __m128 v, size_t n)
{
	memcpy(p, &v, n % LANES * sizeof(*p));
}

#include "plan/kernels/loops_f32.h"

/* ---- Bytes ---- */

typedef int32_t sums_q8 __attribute__((vector_size(16)));
typedef int16_t wide_q8 __attribute__((vector_size(16)));

#define Q8_ROWS 4
#define WIDE_OF_BYTES(b) ((wide_q8)_mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)(b))))
#define WIDE_OF_SIGNED(b) ((wide_q8)_mm_cvtepi8_epi16(_mm_cvtsi64_si128((long long)(b))))
#define MAX_OF_BYTES(a, b) ((full_q8)_mm_max_epu8((__m128i)(a), (__m128i)(b)))
#define REPEAT_16(p) ((full_q8)_mm_loadu_si128((const __m128i *)(p)))
#define FIND_BYTES(t, i) ((full_q8)_mm_shuffle_epi8((__m128i)(t), (__m128i)(i)))
#define CHOOSE_BYTES(a, b, c) ((full_q8)_mm_blendv_epi8((__m128i)(a), (__m128i)(b), (__m128i)(c)))
#define DOT(a, b) ((sums_q8)_mm_madd_epi16((__m128i)(a), (__m128i)(b)))
#define LOW_PAIRS(a, b) ((wide_q8)_mm_unpacklo_epi16((__m128i)(a), (__m128i)(b)))
#define HIGH_PAIRS(a, b) ((wide_q8)_mm_unpackhi_epi16((__m128i)(a), (__m128i)(b)))
#define MULTIPLY_Q15(a, b) ((wide_q8)_mm_mulhrs_epi16((__m128i)(a), (__m128i)(b)))
#define MULTIPLY_EVEN(a, b) _mm_mul_epi32((__m128i)(a), (__m128i)(b))

/*
 * Shifts each lane right by its count in `shifts`. The usual case, equal counts, is fast; SSE4.1
 * has no shift with different counts.
 */
static inline ALWAYS_INLINE TARGET __m128i shift_right(__m128i x, const int32_t *shifts)
{
	const __m128i counts = _mm_loadu_si128((const __m128i *)shifts);
	const __m128i same = _mm_cmpeq_epi32(counts, _mm_shuffle_epi32(counts, 0));
	__m128i low, high;

	if (_mm_test_all_ones(same))
		return _mm_sra_epi32(x, _mm_cvtsi32_si128(shifts[0]));
	low = _mm_blend_epi16(_mm_sra_epi32(x, _mm_cvtsi32_si128(shifts[0])),
			      _mm_sra_epi32(x, _mm_cvtsi32_si128(shifts[1])), 0x0c);
	high = _mm_blend_epi16(_mm_sra_epi32(x, _mm_cvtsi32_si128(shifts[2])),
			       _mm_sra_epi32(x, _mm_cvtsi32_si128(shifts[3])), 0xc0);
	return _mm_blend_epi16(low, high, 0xf0);
}

/* Scales accumulators like q8_scaled() in q8_avx512.h. */
static inline ALWAYS_INLINE TARGET sums_q8 scale_q8(sums_q8 acc, const struct nn_q8_scale *s)
{
	const __m128i multiplier = _mm_loadu_si128((const __m128i *)s->multiplier);
	const __m128i shift = _mm_loadu_si128((const __m128i *)s->shift);
	const __m128i x = (__m128i)acc, twice = _mm_add_epi32(x, x);
	const __m128i shifts = _mm_cmpgt_epi32(shift, _mm_setzero_si128());
	const __m128i sign = _mm_and_si128(_mm_srai_epi32(x, 31), shifts);
	__m128i even = _mm_mul_epi32(twice, multiplier);
	__m128i odd = _mm_mul_epi32(_mm_srli_epi64(twice, 32), _mm_srli_epi64(multiplier, 32));

	even = _mm_add_epi64(even, _mm_loadu_si128((const __m128i *)s->round_even));
	odd = _mm_add_epi64(odd, _mm_loadu_si128((const __m128i *)s->round_odd));
	odd = _mm_blend_epi16(_mm_srli_epi64(even, 32), odd, 0xcc);
	return (sums_q8)shift_right(_mm_add_epi32(odd, sign), s->shift);
}

/* Stores scaled sums as up to 8 bytes. */
static inline ALWAYS_INLINE TARGET void store_q8(uint8_t *out, sums_q8 x, sums_q8 y,
						 const struct nn_q8_output *o, size_t count)
{
	__m128i v = _mm_packs_epi32((__m128i)x, (__m128i)y);

	v = _mm_adds_epi16(v, _mm_set1_epi16((int16_t)o->zero));
	v = _mm_max_epi16(v, _mm_set1_epi16((int16_t)o->low));
	v = _mm_min_epi16(v, _mm_set1_epi16((int16_t)o->high));
	v = _mm_and_si128(v, _mm_set1_epi16(0xff));
	v = _mm_packus_epi16(v, v);
	if (count >= 8)
		_mm_storel_epi64((__m128i *)out, v);
	else
		memcpy(out, &v, count);
}

#include "plan/kernels/even_q31.h"
#include "plan/kernels/loops_q8.h"

static bool runs_sse4(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.1");
}

const struct nn_isa nn_isa_sse4 = {
	.name = "sse4",
	.runs = runs_sse4,
	LOOPS_F32,
	LOOPS_Q8,
	GEMM_PAIRS,
	DEPTHWISE_PAIRS,
};

#endif
