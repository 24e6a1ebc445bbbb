/* SPDX-License-Identifier: MIT */
/*
 * The families of fast kernels, and the codes of the operations that they take.
 */
#ifndef NN_PLAN_KERNELS_FAMILIES_H
#define NN_PLAN_KERNELS_FAMILIES_H

#include "plan/kernels/kernel.h"

enum {
	NN_CODE_ADD = 0,
	NN_CODE_AVERAGE_POOL_2D = 1,
	NN_CODE_CONCATENATION = 2,
	NN_CODE_CONV_2D = 3,
	NN_CODE_DEPTHWISE_CONV_2D = 4,
	NN_CODE_DEQUANTIZE = 6,
	NN_CODE_FULLY_CONNECTED = 9,
	NN_CODE_L2_POOL_2D = 12,
	NN_CODE_LSTM = 16,
	NN_CODE_MAX_POOL_2D = 17,
	NN_CODE_RESHAPE = 22,
	NN_CODE_SOFTMAX = 25,
	NN_CODE_MEAN = 31,
	NN_CODE_TRANSPOSE = 37,
	NN_CODE_BIDIRECTIONAL_SEQUENCE_LSTM = 42,
	NN_CODE_CAST = 45,
	NN_CODE_GROUPED_CONV_2D = 55,
	NN_CODE_QUANTIZE = 72,
	NN_CODE_REDUCE_SUM = 80,
	NN_CODE_TRANSPOSE_CONV_2D = 91,
	NN_CODE_UNIDIRECTIONAL_SEQUENCE_LSTM = 92,
	NN_CODE_BATCH_MATMUL = 102,
};

extern const struct nn_kernel nn_kernel_batch_matmul;
extern const struct nn_kernel nn_kernel_binary;
extern const struct nn_kernel nn_kernel_cast;
extern const struct nn_kernel nn_kernel_concatenation;
extern const struct nn_kernel nn_kernel_conv;
extern const struct nn_kernel nn_kernel_conv_parts;
extern const struct nn_kernel nn_kernel_depthwise;
extern const struct nn_kernel nn_kernel_dequantize;
extern const struct nn_kernel nn_kernel_fully_connected;
extern const struct nn_kernel nn_kernel_lstm;
extern const struct nn_kernel nn_kernel_mean;
extern const struct nn_kernel nn_kernel_pool;
extern const struct nn_kernel nn_kernel_quantize;
extern const struct nn_kernel nn_kernel_softmax;
extern const struct nn_kernel nn_kernel_table;
extern const struct nn_kernel nn_kernel_transpose;
extern const struct nn_kernel nn_kernel_unary;

#endif /* NN_PLAN_KERNELS_FAMILIES_H */
