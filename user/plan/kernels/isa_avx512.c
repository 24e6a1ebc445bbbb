/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for x86 CPUs with AVX-512 and its VNNI: floats.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "plan/kernels/isa_x86.h"

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
#define TILES(T) T(14, 2) T(7, 2) T(4, 2) T(2, 2) T(1, 2) T(14, 1) T(7, 1) T(4, 1) T(2, 1) T(1, 1)

#include "plan/kernels/gemm_f32.h"
#include "plan/kernels/depthwise_f32.h"
#include "plan/kernels/elementwise_f32.h"
#include "plan/kernels/math_f32.h"

const struct nn_isa nn_isa_avx512 = {
	.name = "avx512-vnni",
	.lanes = LANES,
	.gemm_f32 = gemm_f32,
	.depthwise_f32 = depthwise_f32,
	.binary_f32 = binary_f32,
	.unary_f32 = unary_f32,
	.softmax_f32 = softmax_f32,
	.sum_f32 = sum_f32,
	.max_f32 = max_f32,
	.quantize_f32 = quantize_f32,
	.sum_row_f32 = sum_row_f32,
	.gemm_q8 = nn_gemm_q8_avx512,
	.depthwise_q8 = nn_depthwise_q8_avx512,
	.binary_q8 = nn_binary_q8_avx512,
	.sum_q8 = nn_sum_q8_avx512,
	.max_q8 = nn_max_q8_avx512,
	.lookup_q8 = nn_lookup_q8_avx512,
};

#endif
