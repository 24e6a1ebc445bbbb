/* SPDX-License-Identifier: MIT */
/*
 * What BATCH_MATMUL multiplies, in any numbers: matrices, and batches of them that may be
 * repeated. A task has a panel of columns of one product.
 */
#ifndef NN_PLAN_KERNELS_MATMUL_H
#define NN_PLAN_KERNELS_MATMUL_H

#include "plan/kernels/kernel.h"
#include "plan/kernels/saved.h"

#define NN_MATMUL_AXES 2

/* Most elements of a factor that is copied before it is read. */
#define NN_MATMUL_COPY ((size_t)1 << 20)

struct nn_matmul {
	size_t rows;
	size_t depth;
	size_t columns;
	bool transpose_x;
	bool transpose_y;
	size_t panel;			/* columns */
	uint32_t panels;
	/* Axes of the batches, the last one first, and by how many elements both factors move. */
	size_t dims[NN_MATMUL_AXES];
	size_t steps_x[NN_MATMUL_AXES];
	size_t steps_y[NN_MATMUL_AXES];
};

/* Reads the shapes of a BATCH_MATMUL; false: too many axes, or nothing to compute. */
bool nn_matmul_read(const struct nn_run *r, const struct nn_isa *isa, struct nn_matmul *m);

static inline uint32_t nn_matmul_tasks(const struct nn_matmul *m)
{
	return (uint32_t)(m->dims[0] * m->dims[1]) * m->panels;
}

struct nn_saved_matmul {
	uint32_t rows;
	uint32_t depth;
	uint32_t columns;
	uint32_t transpose_x;
	uint32_t transpose_y;
	uint32_t dims[NN_MATMUL_AXES];
	uint32_t steps_x[NN_MATMUL_AXES];
	uint32_t steps_y[NN_MATMUL_AXES];
};

void nn_matmul_save(const struct nn_matmul *m, struct nn_saved_matmul *s);

/* False unless matrices of elements of that size are within the bounds. */
bool nn_matmul_restore(const struct nn_saved_matmul *s, size_t element,
		       const struct nn_bounds *bounds, const struct nn_isa *isa,
		       struct nn_matmul *m);

/* Where the matrices of a task are, in elements, and its first column and how many it has. */
struct nn_matmul_task {
	size_t x;
	size_t y;
	size_t out;
	size_t first;
	size_t columns;
};

struct nn_matmul_task nn_matmul_task(const struct nn_matmul *m, uint32_t task);

#endif /* NN_PLAN_KERNELS_MATMUL_H */
