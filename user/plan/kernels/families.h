/* SPDX-License-Identifier: MIT */
/*
 * The families of fast kernels.
 */
#ifndef NN_PLAN_KERNELS_FAMILIES_H
#define NN_PLAN_KERNELS_FAMILIES_H

#include "plan/kernels/kernel.h"

/* The first one that takes an operation has it: what takes few goes before what takes more. */
#define NN_KERNELS(K)									\
	K(arg) K(batch_matmul) K(batch_matmul_q8) K(table) K(binary) K(concatenation)	\
	K(conv) K(depthwise) K(conv_parts) K(dynamic) K(fully_connected) K(function)	\
	K(instance) K(l2_normalization) K(local_response) K(lstm) K(pool)		\
	K(quantized_lstm) K(reduce) K(resize) K(softmax) K(svdf) K(transpose)

#define NN_DECLARE_KERNEL(which) extern const struct nn_kernel nn_kernel_##which;
NN_KERNELS(NN_DECLARE_KERNEL)

#endif /* NN_PLAN_KERNELS_FAMILIES_H */
