/* SPDX-License-Identifier: MIT */
/*
 * BATCH_MATMUL of int8. Each task packs some columns of the second factor like a panel of weights,
 * and then multiplies the first factor by the panel.
 */
#include "plan/kernels/gemm.h"
#include "plan/kernels/matmul.h"
#include "plan/kernels/pack_q8.h"
#include "plan/kernels/squares.h"

enum { X, Y };

#define MAX_DEPTH (1 << 13)	/* depth limit that keeps sums within 30 bits */

struct matmul_q8 {
	struct nn_matmul shape;
	struct nn_gemm gemm;		/* product of the first factor with one panel */
	int32_t x_zero;
	int32_t y_zero;
	struct nn_multiplier multiplier;
	/*
	 * The following sizes are in bytes; the scratch memory begins with a panel of `panel_size`
	 * bytes.
	 */
	size_t panel_size;
	/* size of the copy of the first factor's rows, or 0 if rows are read in place */
	size_t rows_size;
	/* size of the transposed copy of a panel's columns; 0 if columns are not copied */
	size_t columns_size;
};

#define NN_STATE struct matmul_q8
static const struct nn_field fields[] = {
	PART(shape, nn_matmul_fields_q8), MULTIPLIER(multiplier.value), WORD(multiplier.shift, -31, 0),
	WORD(x_zero, INT8_MIN, INT8_MAX), BYTE_DIFFERENCE(y_zero), OUTPUT_DIFFERENCES(gemm.out),
	END
};

static bool copies_rows(const struct matmul_q8 *m)
{
	return m->shape.transpose_x || !nn_gemm_takes_rows(&m->gemm);
}

/*
 * Returns false if the depth of the product is too large, or if copies of the factors would be too
 * large.
 */
static bool complete(void *state, struct nn_ready *ready)
{
	struct matmul_q8 *m = state;
	struct nn_matmul *s = &m->shape;
	struct nn_gemm *g = &m->gemm;

	if (s->depth > MAX_DEPTH ||
	    (uint64_t)s->rows * (s->depth + NN_Q8_GROUP) > NN_MATMUL_COPY)
		return false;
	nn_matmul_complete(s, ready->isa);
	g->rows = s->rows;
	g->columns = s->panel;
	g->depth = s->depth;
	nn_gemm_set_number(g, ready->isa, NN_IN_INT8);
	g->c_stride = s->columns;
	g->a_flip = 0x80;
	g->a_zero = m->x_zero + 128;
	g->b_zero = m->y_zero;
	g->block_rows = s->rows;
	g->block_columns = s->panel;
	m->panel_size = nn_kernel_aligned(nn_gemm_packed_size(g, ready->isa));
	m->rows_size = copies_rows(m) ? nn_kernel_aligned(s->rows * g->a_stride) : 0;
	m->columns_size = s->transpose_y ? 0 : nn_kernel_aligned(s->panel * s->depth);
	ready->scratch_size = m->panel_size + m->rows_size + m->columns_size +
			      nn_gemm_scratch(g, ready->isa);
	ready->tasks = nn_matmul_tasks(s);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[X], *y = &r->inputs[Y], *out = &r->outputs[0];
	struct matmul_q8 *m = ready->state;

	if (x->type != NN_TENSOR_QUANT8_ASYMM_SIGNED)
		return false;
	m->x_zero = x->zero_point;
	m->y_zero = y->zero_point;
	m->gemm.out.zero = out->zero_point;
	nn_quant_range(out->type, &m->gemm.out.low, &m->gemm.out.high);
	return out->scale > 0 &&
	       nn_quant_encode((double)(x->scale * y->scale) / (double)out->scale,
			       &m->multiplier) &&
	       m->multiplier.shift <= 0 && nn_matmul_read(r, &m->shape) && complete(m, ready);
}

/* ---- Running ---- */

/*
 * Returns the columns of the second factor that a task multiplies, as contiguous rows. Transposes
 * the columns to `copy` unless the second factor already has them as rows.
 */
static const uint8_t *columns_of(const struct matmul_q8 *m, const struct nn_matmul_task *t,
				 const uint8_t *y, uint8_t *copy)
{
	const struct nn_matmul *s = &m->shape;

	if (s->transpose_y)
		return y + t->first * s->depth;
	transpose_bytes(y + t->first, s->depth, t->columns, s->columns, copy, s->depth);
	return copy;
}

static const uint8_t *rows_of(const struct matmul_q8 *m, const uint8_t *x, uint8_t *copy)
{
	const struct nn_matmul *s = &m->shape;

	if (!copies_rows(m))
		return x;
	if (s->transpose_x)
		transpose_bytes(x, s->depth, s->rows, s->rows, copy, m->gemm.a_stride);
	else
		for (size_t i = 0; i < s->rows; i++)
			memcpy(copy + i * m->gemm.a_stride, x + i * s->depth, s->depth);
	return copy;
}

static void pack_columns(const struct matmul_q8 *m, const struct nn_isa *isa, const uint8_t *y,
			 size_t columns, void *to)
{
	struct nn_q8_channels q = { .bias = { 0 } };
	const struct nn_tensor factors[] = {
		{ .type = NN_TENSOR_QUANT8_ASYMM_SIGNED, .zero_point = m->x_zero },
		{ .type = NN_TENSOR_QUANT8_ASYMM_SIGNED, .zero_point = m->y_zero,
		  .data = (void *)y },
	};
	const struct nn_pack_q8 pack = {
		.x = &factors[0],
		.weights = &factors[1],
		.q = &q,
		.columns = columns,
		.depth = m->shape.depth,
	};

	for (size_t i = 0; i < columns; i++)
		q.multipliers[i] = m->multiplier;
	isa->gemm_q8.pack(&isa->gemm_q8, &pack, to);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct matmul_q8 *m = call->ready->state;
	const struct nn_matmul_task t = nn_matmul_task(&m->shape, task);
	uint8_t *rows = (uint8_t *)scratch + m->panel_size, *columns = rows + m->rows_size;
	struct nn_ready ready = *call->ready;
	struct nn_gemm gemm = m->gemm;

	pack_columns(m, ready.isa,
		     columns_of(m, &t, (const uint8_t *)call->inputs[Y] + t.y, columns),
		     t.columns, scratch);
	ready.packed = scratch;
	gemm.columns = t.columns;
	nn_gemm_run(&ready, &gemm, 0, 0, rows_of(m, (const uint8_t *)call->inputs[X] + t.x, rows),
		    (uint8_t *)call->outputs[0] + t.out, columns + m->columns_size);
}

NN_KERNEL(batch_matmul_q8, "product of tensors of bytes", sizeof(struct matmul_q8),
	  NN_TAKES(NN_OP_BATCH_MATMUL), .inputs = 2);
