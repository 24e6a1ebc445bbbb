/* SPDX-License-Identifier: MIT */
/*
 * How kernels that treat every element alike cut their work in tasks.
 */
#ifndef NN_PLAN_KERNELS_ELEMENTWISE_H
#define NN_PLAN_KERNELS_ELEMENTWISE_H

#include <stddef.h>
#include <stdint.h>

#define NN_MIN_SHARED 50000	/* elements that are worth a second thread */

/* Returns the number of tasks; *task_count is how many elements each but the last one has. */
static inline uint32_t nn_elementwise_divide(uint32_t threads, size_t count, size_t *task_count)
{
	*task_count = count;
	if (threads > 1 && count >= NN_MIN_SHARED)
		*task_count = (count / (4 * threads) + 64) / 64 * 64;
	return (uint32_t)((count + *task_count - 1) / *task_count);
}

#endif /* NN_PLAN_KERNELS_ELEMENTWISE_H */
