/* SPDX-License-Identifier: MIT */
/*
 * Defines all inner loops on floats for one instruction set, and LOOPS_F32, which sets the members
 * of struct nn_isa to these loops. The includer of loops_f32.h defines the macros that the headers
 * included by loops_f32.h require.
 */
#if !defined(LANES) || !defined(ROWS)
#error "loops_f32.h needs: LANES ROWS"
#endif

#include "plan/kernels/gemm_f32.h"
#include "plan/kernels/depthwise_f32.h"
#include "plan/kernels/binary_f32.h"
#include "plan/kernels/elementwise_f32.h"
#include "plan/kernels/dynamic_f32.h"
#include "plan/kernels/instance_f32.h"
#include "plan/kernels/reduce_f32.h"
#include "plan/kernels/response_f32.h"
#include "plan/kernels/rows_f32.h"
#include "plan/kernels/resize_f32.h"
#include "plan/kernels/math_f32.h"

#define LOOPS_F32 \
	.lanes = LANES, \
	.tile_rows = ROWS, \
	.gemm_f32 = gemm_f32, \
	.depthwise_f32 = depthwise_f32, \
	.binary_f32 = binary_f32, \
	.unary_f32 = unary_f32, \
	.softmax_f32 = softmax_f32, \
	.log_softmax_f32 = log_softmax_f32, \
	.softmax_columns_f32 = softmax_columns_f32, \
	.sum_f32 = sum_f32, \
	.pool_f32 = pool_f32, \
	.quantize_f32 = quantize_f32, \
	.dequantize_f32 = dequantize_f32, \
	.dynamic_bytes = dynamic_bytes, \
	.dynamic_floats = dynamic_floats, \
	.blend_f32 = blend_f32, \
	.instance_f32 = instance_f32, \
	.reduce_f32 = reduce_f32, \
	.response_f32 = response_f32, \
	.rows_f32 = rows_f32, \
	.few_f32 = few_f32, \
	.sum_row_f32 = sum_row_f32
