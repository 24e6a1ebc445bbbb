/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with the instructions of AVX-512 VNNI on vectors of 256 bits. With this file,
 * the code for AVX-VNNI can be tested and measured on CPUs that have only AVX-512 VNNI.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512vnni")))
#define DPBUSD(sums, a, b) _mm256_dpbusd_epi32(sums, a, b)
#define PRODUCT nn_gemm_q8_avx512_vnni_256

#include "plan/kernels/gemm_q8_vnni256.h"

#endif
