/* SPDX-License-Identifier: MIT */
/*
 * BATCH_MATMUL of floats: columns of the second factor are packed, a panel at a
 * time, while it runs.
 */
#include <math.h>
#include <stdlib.h>

#include "plan/kernels/families.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/saved.h"

enum { X, Y, TRANSPOSE_X, TRANSPOSE_Y };

#define MAX_BATCH_AXES 2
#define MAX_COPY ((size_t)1 << 20)	/* elements of a factor that is transposed */

struct matmul {
	size_t rows;
	size_t depth;
	size_t columns;
	bool transpose_x;
	bool transpose_y;
	size_t panel;			/* columns */
	uint32_t panels;
	/* Axes of the batches, and by how many elements both factors move along them. */
	size_t dims[MAX_BATCH_AXES];
	size_t steps_x[MAX_BATCH_AXES];
	size_t steps_y[MAX_BATCH_AXES];
};

/* The last axis last; axes that are not there have one element. */
static void read_batches(const struct nn_run *r, struct matmul *m)
{
	const struct nn_tensor *x = &r->inputs[X], *y = &r->inputs[Y];
	size_t step_x = m->rows * m->depth, step_y = m->depth * m->columns;

	for (uint32_t i = 0; i < MAX_BATCH_AXES; i++) {
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

/* What the sizes tell of the rest. */
static void set_ready(struct matmul *m, struct nn_ready *ready)
{
	m->panel = NN_PANEL_VECTORS * ready->isa->lanes;
	m->panels = (uint32_t)((m->columns + m->panel - 1) / m->panel);
	ready->scratch_size = nn_gemm_panels_f32(ready->isa, m->panel, m->depth) * sizeof(float);
	if (m->transpose_x)
		ready->scratch_size += m->rows * m->depth * sizeof(float);
	ready->tasks = (uint32_t)(m->dims[0] * m->dims[1]) * m->panels;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X], *out = &r->outputs[0];
	struct matmul *m;

	if (r->op->code != NN_OP_BATCH_MATMUL || x->type != NN_TENSOR_FLOAT32 ||
	    x->rank > 2 + MAX_BATCH_AXES || !nn_tensor_count(out))
		return false;
	m = calloc(1, sizeof(*m));
	if (!m)
		return false;
	ready->state = m;
	m->transpose_x = nn_run_bool(r, TRANSPOSE_X, false);
	m->transpose_y = nn_run_bool(r, TRANSPOSE_Y, false);
	m->rows = out->dims[out->rank - 2];
	m->columns = out->dims[out->rank - 1];
	m->depth = x->dims[x->rank - (m->transpose_x ? 2 : 1)];
	if (m->transpose_x && m->rows * m->depth > MAX_COPY)
		return false;
	read_batches(r, m);
	set_ready(m, ready);
	return true;
}

/* ---- Saving ---- */

struct saved {
	uint32_t rows;
	uint32_t depth;
	uint32_t columns;
	uint32_t transpose_x;
	uint32_t transpose_y;
	uint32_t dims[MAX_BATCH_AXES];
	uint32_t steps_x[MAX_BATCH_AXES];
	uint32_t steps_y[MAX_BATCH_AXES];
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct matmul *m = ready->state;
	struct saved *s = (struct saved *)words;

	*s = (struct saved){
		.rows = (uint32_t)m->rows,
		.depth = (uint32_t)m->depth,
		.columns = (uint32_t)m->columns,
		.transpose_x = m->transpose_x,
		.transpose_y = m->transpose_y,
	};
	for (uint32_t i = 0; i < MAX_BATCH_AXES; i++) {
		s->dims[i] = (uint32_t)m->dims[i];
		s->steps_x[i] = (uint32_t)m->steps_x[i];
		s->steps_y[i] = (uint32_t)m->steps_y[i];
	}
	return NN_WORDS(*s);
}

/* Whether all matrices of `size` elements that the batches lead to are within `room` bytes. */
static bool has_room(const struct saved *s, const uint32_t *steps, uint64_t size,
		     const struct nn_room *room)
{
	uint64_t end = size;

	/* The dimensions' product is bounded, and with it this sum. */
	for (uint32_t i = 0; i < MAX_BATCH_AXES; i++)
		end += (uint64_t)(s->dims[i] - 1) * steps[i];
	return nn_fits(room, nn_times(end, sizeof(float)), sizeof(float));
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	struct matmul *m = state;
	uint64_t batches;

	if (count != NN_WORDS(*s) || !nn_is_dimension(s->rows) || !nn_is_dimension(s->depth) ||
	    !nn_is_dimension(s->columns))
		return false;
	*m = (struct matmul){
		.rows = s->rows,
		.depth = s->depth,
		.columns = s->columns,
		.transpose_x = s->transpose_x,
		.transpose_y = s->transpose_y,
	};
	for (uint32_t i = 0; i < MAX_BATCH_AXES; i++) {
		if (!nn_is_dimension(s->dims[i]))
			return false;
		m->dims[i] = s->dims[i];
		m->steps_x[i] = s->steps_x[i];
		m->steps_y[i] = s->steps_y[i];
	}
	batches = (uint64_t)s->dims[0] * s->dims[1];
	if (!nn_fits(&bounds->output, nn_times(nn_times(batches, m->rows * m->columns),
					       sizeof(float)), sizeof(float)) ||
	    (m->transpose_x && m->rows * m->depth > MAX_COPY) ||
	    !has_room(s, s->steps_x, m->rows * m->depth, &bounds->inputs[X]) ||
	    !has_room(s, s->steps_y, m->depth * m->columns, &bounds->inputs[Y]))
		return false;
	set_ready(m, ready);
	return true;
}

/* ---- Running ---- */

static const float *transpose(const struct matmul *m, const float *x, float *to)
{
	for (size_t k = 0; k < m->depth; k++) {
		for (size_t row = 0; row < m->rows; row++)
			to[row * m->depth + k] = *x++;
	}
	return to;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct matmul *m = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	size_t batch = task / m->panels, at = task % m->panels * m->panel, left = m->columns - at;
	size_t inner = batch % m->dims[0], outer = batch / m->dims[0];
	const float *x = (const float *)call->inputs[X] + inner * m->steps_x[0] +
			 outer * m->steps_x[1];
	const float *y = (const float *)call->inputs[Y] + inner * m->steps_y[0] +
			 outer * m->steps_y[1];
	struct nn_gemm_f32 gemm = {
		.rows = m->rows,
		.one_row = m->rows == 1,
		.columns = left < m->panel ? left : m->panel,
		.depth = m->depth,
		.a_stride = m->depth,
		.panels = scratch,
		.c = (float *)call->outputs[0] + batch * m->rows * m->columns + at,
		.c_stride = m->columns,
		.low = -INFINITY,
		.high = INFINITY,
	};

	if (m->transpose_y)
		nn_gemm_pack_rows_f32(isa, y + at * m->depth, NULL, gemm.columns, m->depth,
				      scratch);
	else
		nn_gemm_pack_columns_f32(isa, y + at, gemm.columns, m->depth, m->columns, scratch);
	gemm.a = x;
	if (m->transpose_x)
		gemm.a = transpose(m, x, (float *)scratch +
				   nn_gemm_panels_f32(isa, m->panel, m->depth));
	isa->gemm_f32(&gemm);
}

const struct nn_kernel nn_kernel_batch_matmul = {
	.name = "product of tensors",
	.prepare = prepare,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 2,
	.state_size = sizeof(struct matmul),
};
