/* SPDX-License-Identifier: MIT */
/*
 * Divides the work of elementwise kernels into tasks.
 */
#ifndef NN_PLAN_KERNELS_ELEMENTWISE_H
#define NN_PLAN_KERNELS_ELEMENTWISE_H

#include <math.h>

#include "plan/kernels/kernel.h"

#define NN_MIN_SHARED 16384	/* minimum number of elements for which several threads are used */
#define NN_MIN_TASK 2048

/*
 * Divides `count` elements into tasks, and returns the number of tasks. Sets *task_count to the
 * number of elements of each task; the last task may have fewer elements.
 */
static inline uint32_t nn_elementwise_divide(uint32_t threads, size_t count, size_t *task_count)
{
	*task_count = count;
	if (threads > 1 && count >= NN_MIN_SHARED)
		*task_count = count / (4 * threads) < NN_MIN_TASK ? NN_MIN_TASK :
			      (count / (4 * threads) + 64) / 64 * 64;
	return (uint32_t)((count + *task_count - 1) / *task_count);
}

/*
 * Divides rows, which have `elements` elements in total, into tasks. Returns the number of rows of
 * each task; the last task may have fewer rows.
 */
static inline size_t nn_elementwise_rows(struct nn_ready *ready, size_t rows, size_t elements)
{
	size_t count, of_task, tasks = nn_elementwise_divide(ready->threads, elements, &count);

	of_task = (rows + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((rows + of_task - 1) / of_task);
	return of_task;
}

/* Computes powers with the C library, because vectors of doubles would not be faster. */
static inline void nn_pow_f32(const struct nn_binary_f32 *b)
{
	const float *x = b->a, *y = b->b;
	float *out = b->out;

	for (size_t row = 0; row < b->rows; row++, x += b->a_stride, y += b->b_stride)
		for (size_t i = 0; i < b->count; i++)
			*out++ = powf(x[b->one_a ? 0 : i], y[b->one_b ? 0 : i]);
}

#endif /* NN_PLAN_KERNELS_ELEMENTWISE_H */
