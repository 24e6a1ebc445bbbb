/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for x86 CPUs with AVX2 and FMA: floats.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

#include "plan/kernels/isa_x86.h"

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

#include "plan/kernels/gemm_f32.h"
#include "plan/kernels/depthwise_f32.h"
#include "plan/kernels/elementwise_f32.h"
#include "plan/kernels/math_f32.h"

const struct nn_isa nn_isa_avx2 = {
	.name = "avx2",
	.lanes = LANES,
	.gemm_f32 = gemm_f32,
	.depthwise_f32 = depthwise_f32,
	.binary_f32 = binary_f32,
	.unary_f32 = unary_f32,
	.softmax_f32 = softmax_f32,
	.sum_f32 = sum_f32,
	.sum_row_f32 = sum_row_f32,
};

#endif
