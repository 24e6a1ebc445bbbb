/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for x86 CPUs with AVX-512, with or without VNNI. The int8 products that use VNNI are
 * in other files.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "plan/kernels/isa_x86.h"
#include "plan/kernels/q8_avx512.h"

#define TARGET NN_TARGET_AVX512
#define LANES 16
#define ROWS 14
#define VF __m512
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_SOME(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define STORE_SOME(p, v, n) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), v)
#define SPLAT(x) _mm512_set1_ps(x)
#define MADD(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ADD(a, b) _mm512_add_ps(a, b)
#define SQRT(a) _mm512_sqrt_ps(a)
#define MIN(a, b) _mm512_min_ps(a, b)
#define MAX(a, b) _mm512_max_ps(a, b)
#define INTS_OF_BYTES(b) ((ints_f32)_mm512_cvtepu8_epi32((__m128i)(b)))
#define BYTES_OF_INTS(v) ((bytes_f32)_mm512_cvtepi32_epi8((__m512i)(v)))
#define TILES(T) T(14, 2) T(7, 2) T(4, 2) T(2, 2) T(1, 2) T(14, 1) T(7, 1) T(4, 1) T(2, 1) T(1, 1)

#include "plan/kernels/loops_f32.h"

/* ---- Bytes ---- */

typedef i32x16 sums_q8;
typedef int16_t wide_q8 __attribute__((vector_size(64)));

#define Q8_ROWS 12
#define LOAD_BYTES(p, n) ((bytes_q8)_mm256_maskz_loadu_epi8((1u << (n)) - 1, p))
#define STORE_BYTES(p, v, n) _mm256_mask_storeu_epi8(p, (1u << (n)) - 1, (__m256i)(v))
#define MAX_OF_BYTES(a, b) ((full_q8)_mm512_max_epu8((__m512i)(a), (__m512i)(b)))
#define REPEAT_16(p) \
	((full_q8)_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(p))))
#define FIND_BYTES(t, i) ((full_q8)_mm512_shuffle_epi8((__m512i)(t), (__m512i)(i)))
#define CHOOSE_BYTES(a, b, c) \
	((full_q8)_mm512_mask_blend_epi8(_mm512_movepi8_mask((__m512i)(c)), (__m512i)(a), (__m512i)(b)))
#define WIDE_OF_BYTES(b) ((wide_q8)_mm512_cvtepu8_epi16((__m256i)(b)))
#define WIDE_OF_SIGNED(b) ((wide_q8)_mm512_cvtepi8_epi16((__m256i)(b)))
#define DOT(a, b) ((sums_q8)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#define LOW_PAIRS(a, b) ((wide_q8)_mm512_unpacklo_epi16((__m512i)(a), (__m512i)(b)))
#define HIGH_PAIRS(a, b) ((wide_q8)_mm512_unpackhi_epi16((__m512i)(a), (__m512i)(b)))
#define MULTIPLY_Q15(a, b) ((wide_q8)_mm512_mulhrs_epi16((__m512i)(a), (__m512i)(b)))
#define MULTIPLY_EVEN(a, b) _mm512_mul_epi32((__m512i)(a), (__m512i)(b))

static inline ALWAYS_INLINE TARGET sums_q8 scale_q8(sums_q8 acc, const struct nn_q8_scale *s)
{
	const struct q8_scale scale = q8_scale_load(s);

	return (sums_q8)q8_scaled((__m512i)acc, &scale, false);
}

/* Stores up to 32 bytes, in the order of columns in the output. */
static inline ALWAYS_INLINE TARGET void store_q8(uint8_t *out, sums_q8 x, sums_q8 y,
						 const struct nn_q8_output *o, size_t count)
{
	q8_store_two(out, (__m512i)x, (__m512i)y, o, count);
}

#include "plan/kernels/even_q31.h"
#include "plan/kernels/loops_q8.h"

static bool runs_avx512(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool runs_vnni(void)
{
	return runs_avx512() && __builtin_cpu_supports("avx512vnni");
}

const struct nn_isa nn_isa_vnni = {
	.name = "avx512-vnni",
	.runs = runs_vnni,
	LOOPS_F32,
	.narrow = &nn_isa_avx2,
	LOOPS_Q8,
	.gemm_q8 = { NN_GEMM_FOURS(LANES), .run = nn_gemm_q8_avx512 },
	.depthwise_q8 = { NN_DEPTHWISE_IN_PLANES, .run = nn_depthwise_q8_avx512 },
};

const struct nn_isa nn_isa_avx512 = {
	.name = "avx512",
	.runs = runs_avx512,
	LOOPS_F32,
	.narrow = &nn_isa_avx2,
	LOOPS_Q8,
	GEMM_PAIRS,
	DEPTHWISE_PAIRS,
};

#endif
