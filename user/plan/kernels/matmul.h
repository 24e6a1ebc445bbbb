/* SPDX-License-Identifier: MIT */
/*
 * The shapes of BATCH_MATMUL, whose factors are batches of matrices, for all types of numbers. If
 * batches are broadcast, one matrix of a factor is used for several products. A task computes a
 * panel of columns of one batch's product.
 */
#ifndef NN_PLAN_KERNELS_MATMUL_H
#define NN_PLAN_KERNELS_MATMUL_H

#include "plan/kernels/fields.h"
#include "plan/kernels/kernel.h"

#define NN_MATMUL_AXES 2

/* Maximum size of a factor, in elements, if the factor must be copied. */
#define NN_MATMUL_COPY ((size_t)1 << 20)

struct nn_matmul {
	size_t rows;
	size_t depth;
	size_t columns;
	bool transpose_x;
	bool transpose_y;
	size_t panel;			/* columns */
	uint32_t panels;
	/*
	 * Axes of the batches, the last axis first: the axes' dimensions, and the distances in
	 * elements between the batches of each factor.
	 */
	size_t dims[NN_MATMUL_AXES];
	size_t steps_x[NN_MATMUL_AXES];
	size_t steps_y[NN_MATMUL_AXES];
};

/* Reads the shapes of a BATCH_MATMUL; returns false if there are too many axes. */
bool nn_matmul_read(const struct nn_run *r, struct nn_matmul *m);

/* Saved fields of a BATCH_MATMUL of floats, and of a BATCH_MATMUL of int8. */
extern const struct nn_field nn_matmul_fields_f32[];
extern const struct nn_field nn_matmul_fields_q8[];

/* Sets the members `panel` and `panels`, which follow from the other members. */
void nn_matmul_complete(struct nn_matmul *m, const struct nn_isa *isa);

static inline uint32_t nn_matmul_tasks(const struct nn_matmul *m)
{
	return (uint32_t)(m->dims[0] * m->dims[1]) * m->panels;
}

/*
 * The part of the product that a task computes: offsets of the task's matrices in elements, the
 * first column, and the number of columns.
 */
struct nn_matmul_task {
	size_t x;
	size_t y;
	size_t out;
	size_t first;
	size_t columns;
};

struct nn_matmul_task nn_matmul_task(const struct nn_matmul *m, uint32_t task);

#endif /* NN_PLAN_KERNELS_MATMUL_H */
