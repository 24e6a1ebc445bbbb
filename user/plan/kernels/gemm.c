/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plan/kernels/fours.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/pack_q8.h"

enum { X, WEIGHTS, BIAS };

/* tasks per thread: more than 1, so that faster threads can run more tasks */
#define TASKS_PER_THREAD 4
#define ROW_TASKS 2	/* tasks per thread in a product whose tasks also quantise their rows */
#define ROW_UNIT 2	/* a task that quantises rows has a multiple of ROW_UNIT rows */
/*
 * Minimum work, about five microseconds, for which several threads are faster than one thread.
 * MIN_LANE_PRODUCTS is a number of multiplications per vector lane. MIN_WEIGHTS is a number of
 * bytes, for products of few rows, which spend most time on reading weights.
 */
#define MIN_LANE_PRODUCTS 50000
#define MIN_WEIGHTS 200000
/* columns packed by one task: a multiple of the columns of a panel */
#define PACK_COLUMNS 64

static size_t divide(size_t a, size_t b)
{
	return (a + b - 1) / b;
}

static const struct nn_gemm_config *config_of(const struct nn_gemm *g, const struct nn_isa *isa)
{
	return g->sums && isa->gemm_sums.run ? &isa->gemm_sums : &isa->gemm_q8;
}

/* Returns the number of bytes of the panels for `columns` columns. */
static size_t panels_size(const struct nn_gemm *g, const struct nn_isa *isa, size_t columns)
{
	const size_t lanes = nn_number_lanes(nn_gemm_isa(g, isa), g->number);

	return g->number == NN_IN_INT8 ?
	       config_of(g, isa)->size(config_of(g, isa), columns, g->depth) :
	       divide(columns, lanes) * lanes * (g->depth + 1) * g->element;
}

size_t nn_gemm_packed_size(const struct nn_gemm *g, const struct nn_isa *isa)
{
	return panels_size(g, isa, g->columns);
}

void nn_gemm_set_number(struct nn_gemm *g, const struct nn_isa *isa, enum nn_number number)
{
	const size_t half = isa->lanes / 2;

	/* Wide vectors would have many idle lanes in a product of few columns. */
	g->is_narrow = number == NN_IN_FLOATS && isa->narrow && g->rows > 1 &&
		       (g->columns <= half || (g->columns > 2 * half && g->columns <= 3 * half));
	g->c_stride = g->columns;
	g->number = number;
	g->element = nn_number_size(number);
	g->a_stride = number != NN_IN_INT8 || !config_of(g, isa)->pads_rows ? g->depth :
		      divide(g->depth, config_of(g, isa)->group) * config_of(g, isa)->group;
}

bool nn_gemm_prepare(struct nn_run *r, uint32_t activation, struct nn_ready *ready,
		     struct nn_gemm *g)
{
	struct nn_q8_output out;

	if (!g->rows)
		return false;
	if (r->inputs[X].type == NN_TENSOR_FLOAT32 ||
	    (r->inputs[X].type == NN_TENSOR_FLOAT16 && ready->isa->gemm_f16)) {
		nn_gemm_set_number(g, ready->isa, r->inputs[X].type == NN_TENSOR_FLOAT32 ?
				   NN_IN_FLOATS : NN_IN_FP16);
		return nn_fused_range_float(nn_run_int(r, activation, 0), &g->low, &g->high);
	}
	if (r->inputs[X].type != NN_TENSOR_QUANT8_ASYMM &&
	    r->inputs[X].type != NN_TENSOR_QUANT8_ASYMM_SIGNED)
		return false;
	ready->reads |= NN_IN(BIAS);
	if (!nn_q8_prepare(r, (uint32_t)g->columns, activation, g->depth, &out))
		return false;
	nn_gemm_set_number(g, ready->isa, NN_IN_INT8);
	g->a_flip = r->inputs[X].type == NN_TENSOR_QUANT8_ASYMM ? 0 : 0x80;
	g->a_zero = r->inputs[X].zero_point + g->a_flip;
	g->b_zero = nn_q8_signed_zero(&r->inputs[WEIGHTS]);
	g->out = out;
	return true;
}

bool nn_gemm_complete(struct nn_gemm *g, const struct nn_isa *isa)
{
	nn_gemm_set_number(g, isa, g->number);
	return nn_times(g->columns, g->depth) <= UINT32_MAX &&
	       (g->number != NN_IN_FP16 || isa->gemm_f16);
}

size_t nn_gemm_scratch(const struct nn_gemm *g, const struct nn_isa *isa)
{
	return g->number != NN_IN_INT8 || !config_of(g, isa)->widens ? 0 :
	       NN_Q8_WIDE_ROWS * nn_q8_wide_stride(g->depth) * sizeof(int16_t);
}

/*
 * Divides `whole` into at most `count` blocks, and sets *blocks to the number of blocks. Returns
 * the size of a block, which is rounded up to a multiple of `unit`.
 */
static size_t cut(size_t whole, size_t count, size_t unit, uint32_t *blocks)
{
	size_t block;

	*blocks = 1;
	if (count == 1)
		return divide(whole, unit) * unit;
	block = divide(divide(whole, count), unit) * unit;
	*blocks = (uint32_t)divide(whole, block);
	return block;
}

/*
 * Divides a product into `wanted` blocks, or into as many as possible, with at least *row_blocks
 * blocks of rows. Chooses, among divisions into equally many blocks, the division whose blocks read
 * the fewest rows and columns in total.
 */
static void cut_both(const struct nn_gemm *g, size_t wanted, size_t panels, size_t *row_blocks,
		     size_t *column_blocks)
{
	const size_t most = divide(g->rows, NN_TILE_ROWS), first = *row_blocks;
	size_t least = SIZE_MAX, blocks = 0;

	for (size_t r = first; r <= (most < wanted ? most : wanted) || r == first; r++) {
		const size_t c = divide(wanted, r) < panels ? divide(wanted, r) : panels;
		const size_t reads = g->rows * c + g->columns * r, count = r * c < wanted ? r * c : wanted;

		if (count < blocks || (count == blocks && reads >= least))
			continue;
		blocks = count;
		least = reads;
		*row_blocks = r;
		*column_blocks = c;
	}
}

static bool is_shared(const struct nn_gemm *g, const struct nn_isa *isa)
{
	const uint64_t weights = (uint64_t)g->columns * g->depth;

	return g->rows * weights >= (uint64_t)MIN_LANE_PRODUCTS * isa->lanes ||
	       weights * g->element >= MIN_WEIGHTS;
}

void nn_gemm_divide(struct nn_gemm *g, const struct nn_isa *isa, uint32_t threads, size_t max_rows)
{
	size_t row_blocks = divide(g->rows, max_rows), column_blocks = 1;
	const size_t panel = NN_PANEL_VECTORS * NN_MAX_LANES, tiles = divide(g->rows, NN_TILE_ROWS);
	size_t unit = NN_TILE_ROWS;

	if (threads > 1 && is_shared(g, isa) && g->sums && tiles >= threads) {
		row_blocks = tiles < ROW_TASKS * (size_t)threads ? tiles : ROW_TASKS * (size_t)threads;
		unit = ROW_UNIT;
	} else if (threads > 1 && is_shared(g, isa)) {
		cut_both(g, threads * TASKS_PER_THREAD, divide(g->columns, panel), &row_blocks,
			 &column_blocks);
	}
	g->block_rows = cut(g->rows, row_blocks, unit, &g->row_blocks);
	g->block_columns = cut(g->columns, column_blocks, panel, &g->column_blocks);
}

/* ---- Packing ---- */

#define LINE 16			/* floats in a cache line */

/*
 * Packs elements [first, end) of each of `count` columns. Each of the first `valid` columns is
 * contiguous in memory; the other columns are padding.
 */
static void pack_line_f32(const float *rows, size_t depth, size_t first, size_t end, size_t count,
			  size_t valid, float *to)
{
	size_t fours = valid / 4 * 4, k = first;

	for (; k + 4 <= end; k += 4) {
		for (size_t c = 0; c < fours; c += 4) {
			four x[4];

			load_fours(rows + c * depth + k, depth * sizeof(*rows), x);
			transpose_fours(x);
			store_fours(to + k * count + c, count * sizeof(*to), x);
		}
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

/*
 * Returns the number of columns of the next panel, if `left` columns are not yet packed. The number
 * of existing columns in the panel is stored in *valid.
 */
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

/* Packs rows of fp16 weights and their biases into panels. */
static void pack_rows_f16(size_t lanes, const uint16_t *rows, const uint16_t *bias, size_t columns,
			  size_t depth, uint16_t *to)
{
	size_t count, valid;

	for (size_t at = 0; at < columns; at += count, to += (depth + 1) * count) {
		count = panel_f32(lanes, columns - at, &valid);
		memset(to, 0, (depth + 1) * count * sizeof(*to));
		memcpy(to, bias + at, valid * sizeof(*to));
		for (size_t c = 0; c < valid; c++)
			for (size_t k = 0; k < depth; k++)
				to[(k + 1) * count + c] = rows[(at + c) * depth + k];
	}
}

/*
 * Packs the int8 columns [first, first + count). The parameters of up to NN_Q8_CHANNELS columns are
 * read at a time. If `r` is NULL, packs weights for a product with int32 sums, without a bias, and
 * with unsigned bytes of zero point 0.
 */
static bool pack_columns_q8(const struct nn_run *r, const struct nn_tensor *from,
			    const struct nn_gemm *g, const struct nn_isa *isa, size_t first,
			    size_t count, char *packed)
{
	static const struct nn_tensor unsigned_bytes = { .type = NN_TENSOR_QUANT8_ASYMM };
	const struct nn_gemm_config *config = config_of(g, isa);
	struct nn_q8_channels q = { .bias = { 0 } };
	struct nn_tensor weights = *from;
	struct nn_pack_q8 pack = {
		.x = r ? &r->inputs[X] : &unsigned_bytes,
		.weights = &weights,
		.q = &q,
		.depth = g->depth,
	};

	for (size_t at = first; at < first + count; at += pack.columns) {
		pack.columns = first + count - at < NN_Q8_CHANNELS ? first + count - at :
								     NN_Q8_CHANNELS;
		if (r && !nn_q8_channels(r, at, pack.columns, g->depth, &q))
			return false;
		weights.data = (char *)from->data + at * g->depth;
		config->pack(config, &pack, packed + panels_size(g, isa, at));
	}
	return true;
}

void nn_gemm_pack_sums(const struct nn_tensor *weights, const struct nn_gemm *g,
		       const struct nn_isa *isa, void *packed)
{
	pack_columns_q8(NULL, weights, g, isa, 0, g->columns, packed);
}

bool nn_gemm_pack(const struct nn_run *r, const struct nn_gemm *g, const struct nn_isa *isa,
		  size_t first, size_t count, void *packed)
{
	const char *weights = (const char *)r->inputs[WEIGHTS].data + first * g->depth * g->element;
	const char *bias = (const char *)r->inputs[BIAS].data + first * g->element;
	char *to = (char *)packed + panels_size(g, isa, first);

	if (g->number == NN_IN_INT8)
		return pack_columns_q8(r, &r->inputs[WEIGHTS], g, isa, first, count, packed);
	if (g->few) {
		memcpy(to, weights, count * g->depth * g->element);
		memcpy(to + count * g->depth * g->element, bias, count * g->element);
	} else if (g->number == NN_IN_FLOATS) {
		nn_gemm_pack_rows_f32(nn_gemm_isa(g, isa), (const float *)weights,
				      (const float *)bias, count, g->depth, (float *)to);
	} else {
		pack_rows_f16(nn_number_lanes(isa, g->number), (const uint16_t *)weights,
			      (const uint16_t *)bias, count, g->depth, (uint16_t *)to);
	}
	return true;
}

uint32_t nn_gemm_pack_tasks(const struct nn_gemm *g)
{
	return g->row_blocks * g->column_blocks == 1 ? 1 :
	       (uint32_t)divide(g->columns, PACK_COLUMNS);
}

bool nn_gemm_pack_task(const struct nn_run *r, const struct nn_gemm *g, const struct nn_ready *ready,
		       uint32_t task, void *packed)
{
	const size_t most = ready->pack_tasks <= 1 ? g->columns : PACK_COLUMNS;
	const size_t first = task * most, left = g->columns - first;

	return nn_gemm_pack(r, g, ready->isa, first, left < most ? left : most, packed);
}

/* ---- Running ---- */

/* A block of columns and the packed panels of these columns. */
struct block {
	const char *panels;
	size_t first;
	size_t columns;
};

static struct block block_of(const struct nn_ready *ready, const struct nn_gemm *g,
			     uint32_t column_block)
{
	size_t first = column_block * g->block_columns, left = g->columns - first;

	return (struct block){
		.panels = (const char *)ready->packed + panels_size(g, ready->isa, first),
		.first = first,
		.columns = left < g->block_columns ? left : g->block_columns,
	};
}

static void multiply(const struct nn_ready *ready, const struct nn_gemm *g,
		     const struct nn_gemm_f32 *gemm)
{
	if (g->number == NN_IN_FP16)
		ready->isa->gemm_f16(gemm);
	else if (g->few)
		ready->isa->few_f32(gemm);
	else
		nn_gemm_isa(g, ready->isa)->gemm_f32(gemm);
}

void nn_gemm_run_parts(const struct nn_ready *ready, const struct nn_gemm *g, size_t row,
		       size_t rows, uint32_t column_block, const struct nn_gemm_part *parts,
		       size_t num_parts, void *c)
{
	const struct block b = block_of(ready, g, column_block);
	const struct nn_gemm_f32 gemm = {
		.rows = rows,
		.columns = b.columns,
		.depth = g->depth,
		.parts = parts,
		.num_parts = num_parts,
		.panels = b.panels,
		.c = (char *)c + (row * g->c_stride + b.first) * g->element,
		.c_stride = g->c_stride,
		.low = g->low,
		.high = g->high,
	};

	multiply(ready, g, &gemm);
}

static void run_f32(const struct nn_ready *ready, const struct nn_gemm *g, size_t rows,
		    size_t columns, const void *panels, const void *a, void *c)
{
	struct nn_gemm_f32 gemm = nn_gemm_dense_f32(rows, columns, g->depth, a, panels, c);

	gemm.one_row = g->rows == 1;
	gemm.a_stride = g->a_stride;
	gemm.c_stride = g->c_stride;
	gemm.low = g->low;
	gemm.high = g->high;
	multiply(ready, g, &gemm);
}

/*
 * Runs a block of an int8 product. The results are int32 sums if `sums` is not NULL, otherwise
 * bytes.
 */
static void run_q8(const struct nn_ready *ready, const struct nn_gemm *g, size_t rows,
		   const struct block *b, const void *a, void *c, int32_t *sums, size_t stride,
		   void *scratch)
{
	const struct nn_gemm_q8 gemm = {
		.rows = rows,
		.columns = b->columns,
		.depth = g->depth,
		.a = a,
		.a_stride = g->a_stride,
		.a_flip = g->a_flip,
		.b_zero = g->b_zero,
		.a_zero = g->a_zero,
		.wide = scratch,
		.panels = b->panels,
		.c = c,
		.c_stride = g->c_stride,
		.out = g->out,
		.sums = sums,
		.sums_stride = stride,
	};

	config_of(g, ready->isa)->run(&gemm);
}

void nn_gemm_run(const struct nn_ready *ready, const struct nn_gemm *g, uint32_t row_block,
		 uint32_t column_block, const void *a, void *c, void *scratch)
{
	const struct block b = block_of(ready, g, column_block);
	size_t row = row_block * g->block_rows, rows = g->rows - row;
	char *to = (char *)c + (row * g->c_stride + b.first) * g->element;

	if (rows > g->block_rows)
		rows = g->block_rows;
	if (g->number != NN_IN_INT8)
		run_f32(ready, g, rows, b.columns, b.panels, a, to);
	else
		run_q8(ready, g, rows, &b, a, to, NULL, 0, scratch);
}

size_t nn_gemm_columns(const struct nn_gemm *g, uint32_t column_block, size_t *first)
{
	*first = column_block * g->block_columns;
	return g->columns - *first < g->block_columns ? g->columns - *first : g->block_columns;
}

void nn_gemm_run_sums(const struct nn_ready *ready, const struct nn_gemm *g, size_t rows,
		      size_t first, size_t columns, const void *a, int32_t *sums, size_t stride,
		      void *scratch)
{
	const struct block b = {
		.panels = (const char *)ready->packed + panels_size(g, ready->isa, first),
		.first = first,
		.columns = columns,
	};

	run_q8(ready, g, rows, &b, a, sums, sums, stride, scratch);
}
