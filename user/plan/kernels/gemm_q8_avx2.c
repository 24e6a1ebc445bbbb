/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with AVX2. Sums of two products have only 16 bits; weights are packed so that
 * these sums do not saturate.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "plan/kernels/isa_x86.h"

#define TARGET NN_TARGET_AVX2
#define SPLITS
#define DPBUSD(sums, a, b) _mm256_add_epi32(sums, add_neighbours(_mm256_maddubs_epi16(a, b)))
/* Halves each signed byte; an odd byte is rounded up. */
#define HALVE(b) _mm256_sub_epi8(_mm256_avg_epu8(_mm256_xor_si256(b, _mm256_set1_epi8(-128)),	\
						 _mm256_setzero_si256()), _mm256_set1_epi8(64))
#define SUBTRACT_BYTES(a, b) _mm256_sub_epi8(a, b)
#define PRODUCT nn_gemm_q8_avx2

/* Adds adjacent numbers. The vector `ones` stays in memory, because a tile needs all registers. */
static inline __attribute__((always_inline)) TARGET __m256i add_neighbours(__m256i x)
{
	static const int16_t ones[16] __attribute__((aligned(32))) = { 1, 1, 1, 1, 1, 1, 1, 1,
								       1, 1, 1, 1, 1, 1, 1, 1 };
	__m256i sums;

	asm("vpmaddwd %2, %1, %0" : "=x"(sums) : "x"(x), "m"(ones));
	return sums;
}

#include "plan/kernels/gemm_q8_vnni256.h"

#endif
