/* SPDX-License-Identifier: MIT */
/*
 * The families of fast kernels.
 */
#ifndef NN_PLAN_KERNELS_FAMILIES_H
#define NN_PLAN_KERNELS_FAMILIES_H

#include "plan/kernels/kernel.h"

extern const struct nn_kernel nn_kernel_arg;
extern const struct nn_kernel nn_kernel_batch_matmul;
extern const struct nn_kernel nn_kernel_batch_matmul_q8;
extern const struct nn_kernel nn_kernel_binary;
extern const struct nn_kernel nn_kernel_concatenation;
extern const struct nn_kernel nn_kernel_conv;
extern const struct nn_kernel nn_kernel_conv_parts;
extern const struct nn_kernel nn_kernel_depthwise;
extern const struct nn_kernel nn_kernel_dynamic;
extern const struct nn_kernel nn_kernel_fully_connected;
extern const struct nn_kernel nn_kernel_function;
extern const struct nn_kernel nn_kernel_instance;
extern const struct nn_kernel nn_kernel_l2_normalization;
extern const struct nn_kernel nn_kernel_local_response;
extern const struct nn_kernel nn_kernel_lstm;
extern const struct nn_kernel nn_kernel_pool;
extern const struct nn_kernel nn_kernel_quantized_lstm;
extern const struct nn_kernel nn_kernel_reduce;
extern const struct nn_kernel nn_kernel_resize;
extern const struct nn_kernel nn_kernel_rnn;
extern const struct nn_kernel nn_kernel_softmax;
extern const struct nn_kernel nn_kernel_svdf;
extern const struct nn_kernel nn_kernel_table;
extern const struct nn_kernel nn_kernel_transpose;

#endif /* NN_PLAN_KERNELS_FAMILIES_H */
