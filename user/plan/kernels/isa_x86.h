/* SPDX-License-Identifier: MIT */
/*
 * The instruction sets of x86 CPUs, and the inner loops that other files define for them.
 */
#ifndef NN_PLAN_KERNELS_ISA_X86_H
#define NN_PLAN_KERNELS_ISA_X86_H

#include "plan/kernels/isa.h"

#define NN_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define NN_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define NN_TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

/* All instruction sets of x86, the best first; plain C code is not listed. */
#define NN_ISAS(I) I(vnni) I(avx512) I(avx_vnni) I(avx512_vnni_256) I(avx2) I(sse4)

void nn_gemm_q8_avx512(const struct nn_gemm_q8 *g);
void nn_gemm_q8_avx2(const struct nn_gemm_q8 *g);
void nn_gemm_q8_avx_vnni(const struct nn_gemm_q8 *g);
void nn_gemm_q8_avx512_vnni_256(const struct nn_gemm_q8 *g);
void nn_depthwise_q8_avx512(const struct nn_depthwise_q8 *d);

extern const struct nn_isa nn_isa_avx2;

#endif /* NN_PLAN_KERNELS_ISA_X86_H */
