/* SPDX-License-Identifier: MIT */
/*
 * Defines all inner loops on bytes for one instruction set of x86 or for plain C, and LOOPS_Q8,
 * which sets the members of struct nn_isa to these loops. LOOPS_Q8 does not set the members gemm_q8
 * and depthwise_q8. GEMM_PAIRS and DEPTHWISE_PAIRS set the members gemm_q8 and depthwise_q8 to the
 * loops for pairs; other files define other loops for these members. The includer defines the
 * macros that q8_pairs.h lists.
 */
#if !defined(LANES) || !defined(TARGET)
#error "loops_q8.h needs: LANES TARGET"
#endif

#include "plan/kernels/pack_q8.h"
#include "plan/kernels/q8_pairs.h"
#include "plan/kernels/depthwise_pairs.h"
#include "plan/kernels/average_q8.h"
#include "plan/kernels/binary_q8.h"
#include "plan/kernels/bytes_q8.h"
#include "plan/kernels/cell_q16.h"

#define LOOPS_Q8 LOOPS_BYTES, CELL_Q16
#define GEMM_PAIRS .gemm_q8 = { NN_GEMM_PAIRS(LANES), .run = gemm_q8 }
#define DEPTHWISE_PAIRS .depthwise_q8 = { NN_DEPTHWISE_PAIRS(LANES), .run = depthwise_q8 }
