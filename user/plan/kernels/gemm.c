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

/* Bytes of the panels of so many columns. */
static size_t panels_size(const struct nn_gemm *g, const struct nn_isa *isa, size_t columns)
{
	return g->is_float ? nn_gemm_panels_f32(isa, columns, g->depth) * sizeof(float) :
	       isa->pairs ? divide(columns, NN_PANEL_VECTORS * isa->lanes) *
			    nn_q8_pairs_panel_size(isa->lanes, g->depth) :
			    nn_q8_panel_size(divide(columns, NN_MAX_LANES), g->depth);
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
	if (!ready->isa->pairs)
		g->a_stride = divide(g->depth, NN_Q8_GROUP) * NN_Q8_GROUP;
	g->a_flip = r->inputs[X].type == NN_TENSOR_QUANT8_ASYMM ? 0 : 0x80;
	g->a_zero = r->inputs[X].zero_point + g->a_flip;
	g->b_zero = nn_q8_signed_zero(&r->inputs[WEIGHTS]);
	g->out = q.out;
	return true;
}

size_t nn_gemm_scratch(const struct nn_gemm *g, const struct nn_isa *isa)
{
	return g->is_float || !isa->pairs ? 0 :
	       NN_Q8_WIDE_ROWS * divide(g->depth, NN_Q8_PAIR) * NN_Q8_PAIR * sizeof(int16_t);
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

typedef float four __attribute__((vector_size(16)));

static inline four load_four(const float *p)
{
	four v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store_four(float *p, four v)
{
	memcpy(p, &v, sizeof(v));
}

/* Four elements of four rows, `from_step` apart, to four elements of four rows, `to_step` apart. */
static inline void transpose_four(const float *from, size_t from_step, float *to, size_t to_step)
{
	const four a = load_four(from), b = load_four(from + from_step);
	const four c = load_four(from + 2 * from_step), d = load_four(from + 3 * from_step);
	const four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
	const four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
	const four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
	const four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);

	store_four(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
	store_four(to + to_step, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
	store_four(to + 2 * to_step, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
	store_four(to + 3 * to_step, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

#define LINE 16			/* floats that are fetched from memory together */

/* Elements [first, end) of `count` columns of which `valid` are there, each a row. */
static void pack_line_f32(const float *rows, size_t depth, size_t first, size_t end, size_t count,
			  size_t valid, float *to)
{
	size_t fours = valid / 4 * 4, k = first;

	for (; k + 4 <= end; k += 4) {
		for (size_t c = 0; c < fours; c += 4)
			transpose_four(rows + c * depth + k, depth, to + k * count + c, count);
	}
	for (; k < end; k++) {
		for (size_t c = 0; c < fours; c++)
			to[k * count + c] = rows[c * depth + k];
	}
	for (k = first; k < end; k++) {
		for (size_t c = fours; c < count; c++)
			to[k * count + c] = c < valid ? rows[c * depth + k] : 0;
	}
}

static void pack_bias_f32(const float *bias, size_t count, size_t valid, float *to)
{
	for (size_t c = 0; c < count; c++)
		to[c] = bias && c < valid ? bias[c] : 0;
}

/* The width of the panel of the columns that are left, and how many of it are there. */
static size_t panel_f32(size_t lanes, size_t left, size_t *valid)
{
	size_t count = left > lanes ? NN_PANEL_VECTORS * lanes : lanes;

	*valid = left < count ? left : count;
	return count;
}

size_t nn_gemm_panels_f32(const struct nn_isa *isa, size_t columns, size_t depth)
{
	return divide(columns, isa->lanes) * isa->lanes * (depth + 1);
}

void nn_gemm_pack_rows_f32(const struct nn_isa *isa, const float *rows, const float *bias,
			   size_t columns, size_t depth, float *to)
{
	size_t count, valid;

	for (size_t at = 0; at < columns; at += count, to += (depth + 1) * count) {
		count = panel_f32(isa->lanes, columns - at, &valid);
		pack_bias_f32(bias ? bias + at : NULL, count, valid, to);
		for (size_t k = 0; k < depth; k += LINE)
			pack_line_f32(rows + at * depth, depth, k,
				      k + LINE < depth ? k + LINE : depth, count, valid,
				      to + count);
	}
}

void nn_gemm_pack_columns_f32(const struct nn_isa *isa, const float *b, size_t columns,
			      size_t depth, size_t stride, float *to)
{
	size_t count, valid;

	for (size_t at = 0; at < columns; at += count) {
		count = panel_f32(isa->lanes, columns - at, &valid);
		pack_bias_f32(NULL, count, valid, to);
		to += count;
		for (size_t k = 0; k < depth; k++, to += count) {
			memcpy(to, b + k * stride + at, valid * sizeof(*to));
			memset(to + valid, 0, (count - valid) * sizeof(*to));
		}
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
	size_t lanes;
};

/* The scale of a column whose products need `bias` besides. */
static void pack_scale(const struct column *c, int32_t bias, struct nn_q8_scale *scale,
		       size_t lane)
{
	const struct nn_multiplier *m = &c->q->multipliers[c->index];
	int64_t *round = lane % 2 ? scale->round_odd : scale->round_even;

	scale->bias[lane] = c->q->bias[c->index] + bias;
	scale->multiplier[lane] = m->value;
	scale->shift[lane] = -m->shift;
	round[lane / 2] = nn_q8_round(-m->shift);
}

static void pack_column_q8(const struct column *c, struct nn_q8_scale *scale, size_t lane,
			   int8_t *to)
{
	const uint8_t *from = (const uint8_t *)c->weights->data + c->index * c->depth;
	int32_t zero = nn_q8_signed_zero(c->weights);
	int32_t x_zero = c->x->zero_point + (c->x->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
	int32_t sum = 0;

	for (size_t k = 0; k < c->depth; k += NN_Q8_GROUP, to += c->vectors * 64) {
		size_t count = c->depth - k < NN_Q8_GROUP ? c->depth - k : NN_Q8_GROUP;

		for (size_t i = 0; i < count; i++) {
			to[i] = nn_q8_signed(c->weights, from[k + i]);
			sum += to[i];
		}
	}
	sum -= zero * (int32_t)c->depth;
	pack_scale(c, -x_zero * sum, scale, lane);
}

/* In pairs, less the zero point, which both then need not know. */
static void pack_column_pairs(const struct column *c, struct nn_q8_scale *scale, size_t lane,
			      int16_t *to)
{
	const uint8_t *from = (const uint8_t *)c->weights->data + c->index * c->depth;
	int32_t zero = nn_q8_signed_zero(c->weights);

	for (size_t k = 0; k < c->depth; k++)
		to[k / 2 * c->vectors * c->lanes * 2 + k % 2] =
			(int16_t)(nn_q8_signed(c->weights, from[k]) - zero);
	pack_scale(c, 0, scale, lane);
}

static void pack_pairs(struct nn_run *r, const struct nn_gemm *g, const struct nn_isa *isa,
		       const struct nn_q8_channels *q, char *to)
{
	const size_t panel = NN_PANEL_VECTORS * isa->lanes;
	const size_t size = nn_q8_pairs_panel_size(isa->lanes, g->depth);
	struct column c = {
		.x = &r->inputs[X],
		.weights = &r->inputs[WEIGHTS],
		.q = q,
		.depth = g->depth,
		.vectors = NN_PANEL_VECTORS,
		.lanes = isa->lanes,
	};

	for (size_t at = 0; at < g->columns; at += panel, to += size) {
		struct nn_q8_scale *scales = (struct nn_q8_scale *)to;
		int16_t *weights = (int16_t *)(scales + NN_PANEL_VECTORS);

		memset(to, 0, size);
		for (size_t place = 0; place < panel; place++) {
			size_t v = place / isa->lanes, lane = place % isa->lanes;

			c.index = at + nn_q8_column(v, lane);
			if (c.index < g->columns)
				pack_column_pairs(&c, &scales[v], lane, weights + place * 2);
		}
	}
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
		nn_gemm_pack_rows_f32(isa, r->inputs[WEIGHTS].data, r->inputs[BIAS].data,
				      g->columns, g->depth, packed);
	else if (!nn_q8_channels(r, (uint32_t)g->columns, activation, g->depth, &q))
		return;
	else if (isa->pairs)
		pack_pairs(r, g, isa, &q, packed);
	else
		pack_q8(r, g, &q, packed);
}

/* ---- Running ---- */

static void run_f32(const struct nn_ready *ready, const struct nn_gemm *g, size_t rows,
		    size_t columns, const void *panels, const void *a, void *c)
{
	const struct nn_gemm_f32 gemm = {
		.rows = rows,
		.one_row = g->rows == 1,
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
		   size_t columns, const void *panels, const void *a, void *c, void *scratch)
{
	const struct nn_gemm_q8 gemm = {
		.rows = rows,
		.columns = columns,
		.depth = g->depth,
		.a = a,
		.a_stride = g->a_stride,
		.a_flip = g->a_flip,
		.b_zero = g->b_zero,
		.a_zero = g->a_zero,
		.wide = scratch,
		.panels = panels,
		.c = c,
		.c_stride = g->columns,
		.out = g->out,
	};

	ready->isa->gemm_q8(&gemm);
}

void nn_gemm_run(const struct nn_ready *ready, const struct nn_gemm *g, uint32_t row_block,
		 uint32_t column_block, const void *a, void *c, void *scratch)
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
		run_q8(ready, g, rows, columns, panels, a, to, scratch);
}
