/* SPDX-License-Identifier: MIT */
/*
 * The instruction sets of arm64 CPUs, and the inner loops that are shared among
 * the files of one.
 */
#ifndef NN_PLAN_KERNELS_ISA_ARM64_H
#define NN_PLAN_KERNELS_ISA_ARM64_H

#include "plan/kernels/isa.h"

extern const struct nn_isa nn_isa_dotprod;
extern const struct nn_isa nn_isa_neon;

void nn_gemm_q8_neon(const struct nn_gemm_q8 *g);
void nn_gemm_q8_dotprod(const struct nn_gemm_q8 *g);
void nn_depthwise_q8_neon(const struct nn_depthwise_q8 *d);

#endif /* NN_PLAN_KERNELS_ISA_ARM64_H */
