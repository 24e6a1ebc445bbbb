/* SPDX-License-Identifier: MIT */
#include "plan/kernels/matmul.h"

enum { X, Y, TRANSPOSE_X, TRANSPOSE_Y };

#define PRODUCT(element)								\
	DIMENSION(rows), DIMENSION(depth), DIMENSION(columns),				\
	FLAG(transpose_x), FLAG(transpose_y),						\
	RUN(dims[0], NN_MATMUL_AXES, 1, INT32_MAX),					\
	RUN(steps_x[0], NN_MATMUL_AXES, 0, UINT32_MAX),					\
	RUN(steps_y[0], NN_MATMUL_AXES, 0, UINT32_MAX),					\
	SPAN(OUTPUT(0), SIZE(element), rows, columns, dims[0], dims[1]),		\
	REACH(INPUT(X), SIZE(element), AXES_OF(NN_MATMUL_AXES), dims, steps_x, rows, depth),	\
	REACH(INPUT(Y), SIZE(element), AXES_OF(NN_MATMUL_AXES), dims, steps_y, depth, columns),	\
	END

#define NN_STATE struct nn_matmul
const struct nn_field nn_matmul_fields_f32[] = { PRODUCT(sizeof(float)) };
const struct nn_field nn_matmul_fields_q8[] = { PRODUCT(1) };

/*
 * Reads the dimensions of the batch axes, and the distances between batches. If the operation has
 * fewer axes than NN_MATMUL_AXES, the missing axes get the dimension 1.
 */
static void read_batches(const struct nn_run *r, struct nn_matmul *m)
{
	const struct nn_tensor *x = &r->inputs[X], *y = &r->inputs[Y];
	size_t step_x = m->rows * m->depth, step_y = m->depth * m->columns;

	for (uint32_t i = 0; i < NN_MATMUL_AXES; i++) {
		uint32_t axis = x->rank - 3 - i;

		m->dims[i] = 1;
		if (i + 3 > x->rank)
			continue;
		m->dims[i] = r->outputs[0].dims[axis];
		m->steps_x[i] = x->dims[axis] == 1 ? 0 : step_x;
		m->steps_y[i] = y->dims[axis] == 1 ? 0 : step_y;
		step_x *= x->dims[axis];
		step_y *= y->dims[axis];
	}
}

void nn_matmul_complete(struct nn_matmul *m, const struct nn_isa *isa)
{
	m->panel = NN_PANEL_VECTORS * isa->lanes;
	m->panels = (uint32_t)((m->columns + m->panel - 1) / m->panel);
}

bool nn_matmul_read(const struct nn_run *r, struct nn_matmul *m)
{
	const struct nn_tensor *x = &r->inputs[X], *out = &r->outputs[0];

	if (x->rank > 2 + NN_MATMUL_AXES)
		return false;
	*m = (struct nn_matmul){
		.transpose_x = nn_run_bool(r, TRANSPOSE_X, false),
		.transpose_y = nn_run_bool(r, TRANSPOSE_Y, false),
		.rows = out->dims[out->rank - 2],
		.columns = out->dims[out->rank - 1],
	};
	m->depth = x->dims[x->rank - (m->transpose_x ? 2 : 1)];
	read_batches(r, m);
	return true;
}

struct nn_matmul_task nn_matmul_task(const struct nn_matmul *m, uint32_t task)
{
	size_t batch = task / m->panels, first = task % m->panels * m->panel;
	size_t inner = batch % m->dims[0], outer = batch / m->dims[0], left = m->columns - first;

	return (struct nn_matmul_task){
		.x = inner * m->steps_x[0] + outer * m->steps_x[1],
		.y = inner * m->steps_y[0] + outer * m->steps_y[1],
		.out = batch * m->rows * m->columns + first,
		.first = first,
		.columns = left < m->panel ? left : m->panel,
	};
}
