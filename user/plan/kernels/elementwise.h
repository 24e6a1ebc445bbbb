/* SPDX-License-Identifier: MIT */
/*
 * Kernels that treat every element alike cut their work in tasks here.
 */
#ifndef NN_PLAN_KERNELS_ELEMENTWISE_H
#define NN_PLAN_KERNELS_ELEMENTWISE_H

#include <math.h>

#include "plan/kernels/kernel.h"

#define NN_MIN_SHARED 16384	/* elements that are worth a second thread */
#define NN_MIN_TASK 2048

/* Returns the number of tasks; *task_count is how many elements each but the last one has. */
static inline uint32_t nn_elementwise_divide(uint32_t threads, size_t count, size_t *task_count)
{
	*task_count = count;
	if (threads > 1 && count >= NN_MIN_SHARED)
		*task_count = count / (4 * threads) < NN_MIN_TASK ? NN_MIN_TASK :
			      (count / (4 * threads) + 64) / 64 * 64;
	return (uint32_t)((count + *task_count - 1) / *task_count);
}

/* Cuts rows of `elements` in all in tasks; returns how many rows each but the last one has. */
static inline size_t nn_elementwise_rows(struct nn_ready *ready, size_t rows, size_t elements)
{
	size_t count, of_task, tasks = nn_elementwise_divide(ready->threads, elements, &count);

	of_task = (rows + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((rows + of_task - 1) / of_task);
	return of_task;
}

/* NN_BINARY_POW calls the C library, because vectors of doubles take as long. */
static inline void nn_pow_f32(const struct nn_binary_f32 *b)
{
	const float *x = b->a, *y = b->b;
	float *out = b->out;

	for (size_t i = 0; i < b->count; i++)
		out[i] = powf(x[b->one_a ? 0 : i], y[b->one_b ? 0 : i]);
}

#endif /* NN_PLAN_KERNELS_ELEMENTWISE_H */
