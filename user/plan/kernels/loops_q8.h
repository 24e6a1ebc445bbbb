/* SPDX-License-Identifier: MIT */
/*
 * All inner loops on bytes for one instruction set without AVX-512, and their part of
 * its table. Whoever includes it defines what q8_pairs.h asks for.
 */
#include "plan/kernels/q8_pairs.h"
#include "plan/kernels/depthwise_pairs.h"
#include "plan/kernels/average_q8.h"
#include "plan/kernels/binary_q8.h"
#include "plan/kernels/bytes_q8.h"
#include "plan/kernels/cell_q16.h"

#define LOOPS_Q8 \
	.gemm_pairs = true, \
	.depthwise_pairs = true, \
	.gemm_q8 = gemm_q8, \
	.depthwise_q8 = depthwise_q8, \
	.binary_q8 = binary_q8, \
	.sum_q8 = sum_q8, \
	.average_q8 = average_q8, \
	.max_q8 = max_q8, \
	.lookup_q8 = lookup_q8, \
	CELL_Q16
