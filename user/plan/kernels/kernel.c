/* SPDX-License-Identifier: MIT */
/*
 * The table of fast kernels.
 */
#include <stdlib.h>

#include "plan/kernels/kernel.h"

static const struct nn_kernel *const kernels[] = {
#define ENTRY(which) &nn_kernel_##which,
	NN_KERNELS(ENTRY)
};

const struct nn_kernel *nn_kernel_at(uint32_t number)
{
	return number < sizeof(kernels) / sizeof(kernels[0]) ? kernels[number] : NULL;
}

bool nn_kernel_enlarge(struct nn_ready *ready, size_t size)
{
	free(ready->state);
	ready->state = calloc(1, size);
	return ready->state;
}

static bool takes(const struct nn_kernel *kernel, int32_t code, uint32_t *row)
{
	const char *at = (const char *)kernel->codes;

	for (*row = 0; *row < kernel->num_codes; (*row)++, at += kernel->code_step)
		if (*(const int32_t *)at == code)
			return true;
	return false;
}

bool nn_kernel_find(struct nn_run *r, struct nn_ready *ready)
{
	if (!nn_tensor_count(&r->inputs[0]) || !nn_tensor_count(&r->outputs[0]))
		return false;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		const struct nn_kernel *kernel = kernels[i];
		struct nn_ready found = { .isa = ready->isa, .threads = ready->threads,
					  .reads = ready->reads };

		if (!takes(kernel, r->op->code, &found.row))
			continue;
		found.kernel = kernel;
		found.state = calloc(1, kernel->state_size);
		if (found.state && kernel->prepare(r, &found)) {
			*ready = found;
			return true;
		}
		ready->reads = found.reads;
		free(found.state);
	}
	return false;
}

bool nn_kernel_pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	return ready->kernel->pack ? ready->kernel->pack(r, ready, packed) :
				     ready->kernel->pack_task(r, ready, 0, NULL, packed);
}
