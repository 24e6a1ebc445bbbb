/* SPDX-License-Identifier: MIT */
/*
 * BATCH_MATMUL of floats. Each task packs some columns of the second factor as a panel, and then
 * multiplies the first factor by the panel.
 */
#include "plan/kernels/gemm.h"
#include "plan/kernels/matmul.h"

enum { X, Y };

/* Returns false if the transposed copy of the first factor would be too large. */
static bool complete(void *state, struct nn_ready *ready)
{
	struct nn_matmul *m = state;

	nn_matmul_complete(m, ready->isa);
	if (m->transpose_x && m->rows * m->depth > NN_MATMUL_COPY)
		return false;
	ready->scratch_size = nn_gemm_panels_f32(ready->isa, m->panel, m->depth) * sizeof(float);
	if (m->transpose_x)
		ready->scratch_size += m->rows * m->depth * sizeof(float);
	ready->tasks = nn_matmul_tasks(m);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	return r->inputs[X].type == NN_TENSOR_FLOAT32 && nn_matmul_read(r, ready->state) &&
	       complete(ready->state, ready);
}

static const float *transpose(const struct nn_matmul *m, const float *x, float *to)
{
	for (size_t k = 0; k < m->depth; k++) {
		for (size_t row = 0; row < m->rows; row++)
			to[row * m->depth + k] = *x++;
	}
	return to;
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct nn_matmul *m = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const struct nn_matmul_task t = nn_matmul_task(m, task);
	const float *x = (const float *)call->inputs[X] + t.x;
	const float *y = (const float *)call->inputs[Y] + t.y;
	struct nn_gemm_f32 gemm = nn_gemm_dense_f32(m->rows, t.columns, m->depth, x, scratch,
						    (float *)call->outputs[0] + t.out);

	gemm.c_stride = m->columns;
	if (m->transpose_y)
		nn_gemm_pack_rows_f32(isa, y + t.first * m->depth, NULL, t.columns, m->depth,
				      scratch);
	else
		nn_gemm_pack_columns_f32(isa, y + t.first, t.columns, m->depth, m->columns,
					 scratch);
	if (m->transpose_x)
		gemm.a = transpose(m, x, (float *)scratch +
				   nn_gemm_panels_f32(isa, m->panel, m->depth));
	isa->gemm_f32(&gemm);
}

const struct nn_kernel nn_kernel_batch_matmul = {
	.name = "product of tensors",
	NN_TAKES(NN_OP_BATCH_MATMUL),
	.prepare = prepare,
	.run = run,
	.fields = nn_matmul_fields_f32,
	.complete = complete,
	.inputs = 2,
	.state_size = sizeof(struct nn_matmul),
};
