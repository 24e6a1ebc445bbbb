/* SPDX-License-Identifier: MIT */
/*
 * The instruction sets of arm64 CPUs, and the inner loops that other files define for them.
 */
#ifndef NN_PLAN_KERNELS_ISA_ARM64_H
#define NN_PLAN_KERNELS_ISA_ARM64_H

#include "plan/kernels/isa.h"

/* All instruction sets of arm64, the best first; plain C code is not listed. */
#define NN_ISAS(I) I(i8mm) I(fp16) I(dotprod) I(neon)

void nn_gemm_q8_neon(const struct nn_gemm_q8 *g);
void nn_gemm_q8_dotprod(const struct nn_gemm_q8 *g);
void nn_gemm_q8_i8mm(const struct nn_gemm_q8 *g);
void nn_depthwise_q8_neon(const struct nn_depthwise_q8 *d);
void nn_gemm_f16_neon(const struct nn_gemm_f32 *g);
void nn_depthwise_f16_neon(const struct nn_depthwise_f32 *d);
void nn_binary_f16_neon(const struct nn_binary_f32 *b);

#endif /* NN_PLAN_KERNELS_ISA_ARM64_H */
