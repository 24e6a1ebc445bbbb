/* SPDX-License-Identifier: MIT */
/*
 * The table of fast kernels.
 */
#include <stdlib.h>

#include "plan/kernels/families.h"

/* The first one that takes an operation has it: what takes few goes before what takes more. */
static const struct nn_kernel *const kernels[] = {
	&nn_kernel_arg,
	&nn_kernel_batch_matmul,
	&nn_kernel_batch_matmul_q8,
	&nn_kernel_table,
	&nn_kernel_binary,
	&nn_kernel_cast,
	&nn_kernel_concatenation,
	&nn_kernel_conv,
	&nn_kernel_depthwise,
	&nn_kernel_conv_parts,
	&nn_kernel_dequantize,
	&nn_kernel_dynamic,
	&nn_kernel_fully_connected,
	&nn_kernel_instance,
	&nn_kernel_l2_normalization,
	&nn_kernel_local_response,
	&nn_kernel_lstm,
	&nn_kernel_pool,
	&nn_kernel_quantize,
	&nn_kernel_quantized_lstm,
	&nn_kernel_reduce,
	&nn_kernel_resize,
	&nn_kernel_rnn,
	&nn_kernel_softmax,
	&nn_kernel_softmax_q8,
	&nn_kernel_svdf,
	&nn_kernel_transpose,
	&nn_kernel_unary,
};

const struct nn_kernel *nn_kernel_at(uint32_t number)
{
	return number < sizeof(kernels) / sizeof(kernels[0]) ? kernels[number] : NULL;
}

bool nn_kernel_find(struct nn_run *r, struct nn_ready *ready)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct nn_ready found = { .isa = ready->isa, .threads = ready->threads };

		if (kernels[i]->prepare(r, &found)) {
			found.kernel = kernels[i];
			found.reads |= ready->reads;
			*ready = found;
			return true;
		}
		ready->reads |= found.reads;
		free(found.state);
	}
	return false;
}
