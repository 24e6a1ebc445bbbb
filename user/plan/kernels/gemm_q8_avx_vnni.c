/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with AVX-VNNI.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma,avxvnni")))
#define DPBUSD(sums, a, b) _mm256_dpbusd_avx_epi32(sums, a, b)
#define PRODUCT nn_gemm_q8_avx_vnni

#include "plan/kernels/gemm_q8_vnni256.h"

#endif
