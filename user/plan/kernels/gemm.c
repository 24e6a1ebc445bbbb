/* SPDX-License-Identifier: MIT */
/*
 * A matrix product with constant weights, in both kinds of numbers: packing,
 * and running a part of its rows and columns.
 */
#include <string.h>

#include "plan/kernels/gemm.h"

enum { X, WEIGHTS, BIAS };

#define TILE_ROWS 14		/* a multiple of most tiles */
#define TASKS_PER_THREAD 4	/* so that threads that are slowed down leave some to others */
#define MIN_SHARED 100000	/* products that are worth a second thread */

static size_t divide(size_t a, size_t b)
{
	return (a + b - 1) / b;
}

static size_t panel_columns(const struct nn_gemm *g, const struct nn_isa *isa)
{
	return NN_PANEL_VECTORS * (g->is_float ? isa->lanes : NN_MAX_LANES);
}

/* Bytes of the panels of so many columns. */
static size_t panels_size(const struct nn_gemm *g, const struct nn_isa *isa, size_t columns)
{
	size_t lanes = panel_columns(g, isa) / NN_PANEL_VECTORS;
	size_t vectors = (columns + lanes - 1) / lanes;

	return g->is_float ? vectors * lanes * (g->depth + 1) * sizeof(float) :
			     nn_q8_panel_size(vectors, g->depth);
}

size_t nn_gemm_packed_size(const struct nn_gemm *g, const struct nn_isa *isa)
{
	return panels_size(g, isa, g->columns);
}

bool nn_gemm_prepare(struct nn_run *r, uint32_t activation, struct nn_ready *ready,
		     struct nn_gemm *g)
{
	struct nn_q8_channels q;

	if (!r->inputs[WEIGHTS].data || !r->inputs[BIAS].data || !g->rows)
		return false;
	g->a_stride = g->depth;
	if (r->inputs[X].type == NN_TENSOR_FLOAT32) {
		g->is_float = true;
		g->element = sizeof(float);
		return nn_fused_range_float(nn_run_int(r, activation, 0), &g->low, &g->high);
	}
	if (r->inputs[X].type != NN_TENSOR_QUANT8_ASYMM &&
	    r->inputs[X].type != NN_TENSOR_QUANT8_ASYMM_SIGNED)
		return false;
	ready->reads = NN_IN(BIAS);
	if (!ready->isa->gemm_q8 || !nn_q8_channels(r, (uint32_t)g->columns, activation, g->depth,
						    &q))
		return false;
	g->element = 1;
	g->a_stride = divide(g->depth, NN_Q8_GROUP) * NN_Q8_GROUP;
	g->a_flip = r->inputs[X].type == NN_TENSOR_QUANT8_ASYMM ? 0 : 0x80;
	g->b_zero = nn_q8_signed_zero(&r->inputs[WEIGHTS]);
	g->out = q.out;
	return true;
}

void nn_gemm_divide(struct nn_gemm *g, uint32_t threads, size_t max_rows)
{
	size_t row_blocks = divide(g->rows, max_rows), column_blocks = 1;
	size_t panel = NN_PANEL_VECTORS * NN_MAX_LANES;

	if (threads > 1 && g->rows * g->columns * g->depth >= MIN_SHARED) {
		size_t wanted = threads * TASKS_PER_THREAD;
		size_t most = divide(g->rows, TILE_ROWS), panels = divide(g->columns, panel);

		if (row_blocks < wanted)
			row_blocks = wanted < most ? wanted : most;
		if (row_blocks < wanted)
			column_blocks = divide(wanted, row_blocks);
		if (column_blocks > panels)
			column_blocks = panels;
	}
	g->block_rows = divide(divide(g->rows, row_blocks), TILE_ROWS) * TILE_ROWS;
	g->block_columns = divide(divide(g->columns, column_blocks), panel) * panel;
	g->row_blocks = (uint32_t)divide(g->rows, g->block_rows);
	g->column_blocks = (uint32_t)divide(g->columns, g->block_columns);
}

/* ---- Packing ---- */

/* `count` columns of which `valid` are there, each a row of the weights. */
static float *pack_panel_f32(const float *weights, const float *bias, size_t depth, size_t count,
			     size_t valid, float *to)
{
	for (size_t c = 0; c < count; c++)
		*to++ = c < valid ? bias[c] : 0;
	for (size_t c = 0; c < count; c++) {
		for (size_t k = 0; k < depth; k++)
			to[k * count + c] = c < valid ? weights[c * depth + k] : 0;
	}
	return to + depth * count;
}

static void pack_f32(const struct nn_run *r, const struct nn_gemm *g, size_t panel, float *to)
{
	const float *weights = r->inputs[WEIGHTS].data, *bias = r->inputs[BIAS].data;
	size_t lanes = panel / NN_PANEL_VECTORS;

	for (size_t at = 0; at < g->columns; at += panel) {
		size_t valid = g->columns - at;

		to = pack_panel_f32(weights + at * g->depth, bias + at, g->depth,
				    valid > lanes ? panel : lanes, valid < panel ? valid : panel,
				    to);
	}
}

/* One column of a quantised panel. */
struct column {
	const struct nn_tensor *x;
	const struct nn_tensor *weights;
	const struct nn_q8_channels *q;
	size_t index;
	size_t depth;
	size_t vectors;			/* of the panel */
};

static void pack_column_q8(const struct column *c, struct nn_q8_scale *scale, size_t lane,
			   int8_t *to)
{
	const uint8_t *from = (const uint8_t *)c->weights->data + c->index * c->depth;
	const struct nn_multiplier *m = &c->q->multipliers[c->index];
	int32_t zero = nn_q8_signed_zero(c->weights);
	int32_t x_zero = c->x->zero_point + (c->x->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
	int64_t *round = lane % 2 ? scale->round_odd : scale->round_even;
	int32_t sum = 0;

	for (size_t k = 0; k < c->depth; k += NN_Q8_GROUP, to += c->vectors * 64) {
		size_t count = c->depth - k < NN_Q8_GROUP ? c->depth - k : NN_Q8_GROUP;

		for (size_t i = 0; i < count; i++) {
			to[i] = nn_q8_signed(c->weights, from[k + i]);
			sum += to[i];
		}
	}
	sum -= zero * (int32_t)c->depth;
	scale->bias[lane] = c->q->bias[c->index] - x_zero * sum;
	scale->multiplier[lane] = m->value;
	scale->shift[lane] = -m->shift;
	round[lane / 2] = nn_q8_round(-m->shift);
}

static void pack_q8(struct nn_run *r, const struct nn_gemm *g, const struct nn_q8_channels *q,
		    char *to)
{
	const size_t panel = NN_PANEL_VECTORS * NN_MAX_LANES;
	struct column c = {
		.x = &r->inputs[X],
		.weights = &r->inputs[WEIGHTS],
		.q = q,
		.depth = g->depth,
	};

	for (size_t at = 0; at < g->columns; at += panel) {
		struct nn_q8_scale *scales = (struct nn_q8_scale *)to;
		int8_t *weights;

		c.vectors = g->columns - at > NN_MAX_LANES ? NN_PANEL_VECTORS : 1;
		weights = (int8_t *)(scales + c.vectors);
		memset(to, 0, nn_q8_panel_size(c.vectors, g->depth));
		for (size_t v = 0; v < c.vectors; v++) {
			for (size_t lane = 0; lane < NN_MAX_LANES; lane++) {
				c.index = at + (c.vectors > 1 ? nn_q8_column(v, lane) : lane);
				if (c.index < g->columns)
					pack_column_q8(&c, &scales[v], lane,
						       weights + (v * NN_MAX_LANES + lane) * 4);
			}
		}
		to += nn_q8_panel_size(c.vectors, g->depth);
	}
}

void nn_gemm_pack(struct nn_run *r, const struct nn_gemm *g, const struct nn_isa *isa,
		  uint32_t activation, void *packed)
{
	struct nn_q8_channels q;

	if (g->is_float)
		pack_f32(r, g, panel_columns(g, isa), packed);
	else if (nn_q8_channels(r, (uint32_t)g->columns, activation, g->depth, &q))
		pack_q8(r, g, &q, packed);
}

/* ---- Running ---- */

static void run_f32(const struct nn_ready *ready, const struct nn_gemm *g, size_t rows,
		    size_t columns, const void *panels, const void *a, void *c)
{
	const struct nn_gemm_f32 gemm = {
		.rows = rows,
		.columns = columns,
		.depth = g->depth,
		.a = a,
		.a_stride = g->a_stride,
		.panels = panels,
		.c = c,
		.c_stride = g->columns,
		.low = g->low,
		.high = g->high,
	};

	ready->isa->gemm_f32(&gemm);
}

static void run_q8(const struct nn_ready *ready, const struct nn_gemm *g, size_t rows,
		   size_t columns, const void *panels, const void *a, void *c)
{
	const struct nn_gemm_q8 gemm = {
		.rows = rows,
		.columns = columns,
		.depth = g->depth,
		.a = a,
		.a_stride = g->a_stride,
		.a_flip = g->a_flip,
		.b_zero = g->b_zero,
		.panels = panels,
		.c = c,
		.c_stride = g->columns,
		.out = g->out,
	};

	ready->isa->gemm_q8(&gemm);
}

void nn_gemm_run(const struct nn_ready *ready, const struct nn_gemm *g, uint32_t row_block,
		 uint32_t column_block, const void *a, void *c)
{
	size_t row = row_block * g->block_rows, column = column_block * g->block_columns;
	size_t rows = g->rows - row, columns = g->columns - column;
	const char *panels = (const char *)ready->packed + panels_size(g, ready->isa, column);
	char *to = (char *)c + (row * g->columns + column) * g->element;

	if (rows > g->block_rows)
		rows = g->block_rows;
	if (columns > g->block_columns)
		columns = g->block_columns;
	if (g->is_float)
		run_f32(ready, g, rows, columns, panels, a, to);
	else
		run_q8(ready, g, rows, columns, panels, a, to);
}
