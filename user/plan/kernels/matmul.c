/* SPDX-License-Identifier: MIT */
/*
 * What BATCH_MATMUL multiplies, in any numbers.
 */
#include "plan/kernels/matmul.h"

enum { X, Y, TRANSPOSE_X, TRANSPOSE_Y };

/* Axes that are not there have one element. */
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

static void set_panels(struct nn_matmul *m, const struct nn_isa *isa)
{
	m->panel = NN_PANEL_VECTORS * isa->lanes;
	m->panels = (uint32_t)((m->columns + m->panel - 1) / m->panel);
}

bool nn_matmul_read(const struct nn_run *r, const struct nn_isa *isa, struct nn_matmul *m)
{
	const struct nn_tensor *x = &r->inputs[X], *out = &r->outputs[0];

	if (x->rank > 2 + NN_MATMUL_AXES || !nn_tensor_count(out))
		return false;
	*m = (struct nn_matmul){
		.transpose_x = nn_run_bool(r, TRANSPOSE_X, false),
		.transpose_y = nn_run_bool(r, TRANSPOSE_Y, false),
		.rows = out->dims[out->rank - 2],
		.columns = out->dims[out->rank - 1],
	};
	m->depth = x->dims[x->rank - (m->transpose_x ? 2 : 1)];
	read_batches(r, m);
	set_panels(m, isa);
	return true;
}

void nn_matmul_save(const struct nn_matmul *m, struct nn_saved_matmul *s)
{
	*s = (struct nn_saved_matmul){
		.rows = (uint32_t)m->rows,
		.depth = (uint32_t)m->depth,
		.columns = (uint32_t)m->columns,
		.transpose_x = m->transpose_x,
		.transpose_y = m->transpose_y,
	};
	for (uint32_t i = 0; i < NN_MATMUL_AXES; i++) {
		s->dims[i] = (uint32_t)m->dims[i];
		s->steps_x[i] = (uint32_t)m->steps_x[i];
		s->steps_y[i] = (uint32_t)m->steps_y[i];
	}
}

/* Whether all matrices of `size` elements that the batches lead to are within the room. */
static bool has_room(const struct nn_saved_matmul *s, const uint32_t *steps, uint64_t size,
		     size_t element, const struct nn_room *room)
{
	uint64_t end = size;

	/* The dimensions' product is bounded, and with it this sum. */
	for (uint32_t i = 0; i < NN_MATMUL_AXES; i++)
		end += (uint64_t)(s->dims[i] - 1) * steps[i];
	return nn_fits(room, nn_times(end, element), element);
}

bool nn_matmul_restore(const struct nn_saved_matmul *s, size_t element,
		       const struct nn_bounds *bounds, const struct nn_isa *isa,
		       struct nn_matmul *m)
{
	uint64_t batches;

	if (!nn_is_dimension(s->rows) || !nn_is_dimension(s->depth) || !nn_is_dimension(s->columns))
		return false;
	*m = (struct nn_matmul){
		.rows = s->rows,
		.depth = s->depth,
		.columns = s->columns,
		.transpose_x = s->transpose_x,
		.transpose_y = s->transpose_y,
	};
	for (uint32_t i = 0; i < NN_MATMUL_AXES; i++) {
		if (!nn_is_dimension(s->dims[i]))
			return false;
		m->dims[i] = s->dims[i];
		m->steps_x[i] = s->steps_x[i];
		m->steps_y[i] = s->steps_y[i];
	}
	batches = (uint64_t)s->dims[0] * s->dims[1];
	if (!nn_fits(&bounds->output, nn_times(nn_times(batches, m->rows * m->columns), element),
		     element) ||
	    !has_room(s, s->steps_x, m->rows * m->depth, element, &bounds->inputs[X]) ||
	    !has_room(s, s->steps_y, m->depth * m->columns, element, &bounds->inputs[Y]))
		return false;
	set_panels(m, isa);
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
