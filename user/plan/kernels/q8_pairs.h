/* SPDX-License-Identifier: MIT */
/*
 * Bytes for instruction sets without VNNI: values become 16 bits wide, less their
 * zero points, and products are summed in pairs. Whoever includes it defines
 * TARGET, LANES (of 32 bits), Q8_ROWS, DOT, which multiplies 16 bits and adds
 * neighbours, LOW_PAIRS and HIGH_PAIRS, which interleave 16 bits of two vectors
 * (of each four lanes apart), and the functions scale_q8() and store_q8().
 */
#include <string.h>

#include "plan/kernels/depthwise_q8.h"

#include "plan/kernels/wide_q8.h"

/* ---- Matrix product ---- */

/* Rows that are made wide at a time. */
#define WIDE_ROWS NN_Q8_WIDE_ROWS

/* A row of `depth` values, and one more where that is odd, which meets weights of 0. */
static TARGET void widen_row(const struct nn_gemm_q8 *g, const uint8_t *a, int16_t *to)
{
	const uint8_t flip = g->a_flip;
	const int32_t zero = g->a_zero;
	const size_t depth = g->depth;
	size_t k = 0;

	for (; k + WIDTH <= depth; k += WIDTH) {
		const wide_q8 x = load_wide(a + k, WIDTH, flip, zero);

		memcpy(to + k, &x, sizeof(x));
	}
	for (; k < depth; k++)
		to[k] = (int16_t)((a[k] ^ flip) - zero);
	if (depth % 2)
		to[k] = 0;
}

/* `rows` rows of wide values, `stride` apart, times a panel. */
static inline ALWAYS_INLINE TARGET void run_pairs(int rows, const struct nn_gemm_q8 *g,
						  const int16_t *a, size_t stride,
						  const struct nn_q8_scale *scales, uint8_t *c,
						  size_t columns)
{
	const int16_t *w = (const int16_t *)(scales + NN_PANEL_VECTORS);
	const struct nn_q8_output out = g->out;
	const size_t depth = g->depth;
	sums_q8 acc[Q8_ROWS][NN_PANEL_VECTORS];

	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < NN_PANEL_VECTORS; v++)
			memcpy(&acc[i][v], scales[v].bias, sizeof(acc[i][v]));
	}
	for (size_t k = 0; k < depth; k += 2, w += NN_PANEL_VECTORS * WIDTH) {
		wide_q8 b[NN_PANEL_VECTORS];

		UNROLL
		for (int v = 0; v < NN_PANEL_VECTORS; v++)
			memcpy(&b[v], w + v * WIDTH, sizeof(b[v]));
		UNROLL
		for (int i = 0; i < rows; i++) {
			int32_t pair;

			memcpy(&pair, a + (size_t)i * stride + k, sizeof(pair));
			UNROLL
			for (int v = 0; v < NN_PANEL_VECTORS; v++)
				acc[i][v] += DOT((wide_q8)(pair - (sums_q8){ 0 }), b[v]);
		}
	}
	/* All before the first is stored, which may change scales as far as a compiler knows. */
	UNROLL
	for (int v = 0; v < NN_PANEL_VECTORS; v++) {
		UNROLL
		for (int i = 0; i < rows; i++)
			acc[i][v] = scale_q8(acc[i][v], &scales[v]);
	}
	UNROLL
	for (int i = 0; i < rows; i++)
		store_q8(c + (size_t)i * g->c_stride, acc[i][0], acc[i][1], &out, columns);
}

static TARGET void run_rows(const struct nn_gemm_q8 *g, const int16_t *a, size_t stride,
			    const void *panel, uint8_t *c, size_t columns)
{
	run_pairs(Q8_ROWS, g, a, stride, panel, c, columns);
}

static TARGET void run_one_row(const struct nn_gemm_q8 *g, const int16_t *a, size_t stride,
			       const void *panel, uint8_t *c, size_t columns)
{
	run_pairs(1, g, a, stride, panel, c, columns);
}

static TARGET void gemm_q8(const struct nn_gemm_q8 *g)
{
	const size_t stride = nn_q8_wide_stride(g->depth);
	const size_t panel_size = nn_q8_pairs_panel_size(LANES, g->depth);

	for (size_t row = 0; row < g->rows; row += WIDE_ROWS) {
		size_t rows = g->rows - row < WIDE_ROWS ? g->rows - row : WIDE_ROWS;
		const char *panel = g->panels;

		for (size_t i = 0; i < rows; i++)
			widen_row(g, g->a + (row + i) * g->a_stride, g->wide + i * stride);
		for (size_t at = 0; at < g->columns; at += WIDTH, panel += panel_size) {
			uint8_t *c = g->c + row * g->c_stride + at;
			size_t i = 0;

			for (; i + Q8_ROWS <= rows; i += Q8_ROWS)
				run_rows(g, g->wide + i * stride, stride, panel,
					 c + i * g->c_stride, g->columns - at);
			for (; i < rows; i++)
				run_one_row(g, g->wide + i * stride, stride, panel,
					    c + i * g->c_stride, g->columns - at);
		}
	}
}

/* ---- Depthwise convolution ---- */

/* Vectors of channels that are done for all output columns: their weights stay in the first level. */
#define DEPTHWISE_BLOCKS 8

/* What all blocks of a row share. */
struct taps_q8 {
	const struct nn_depthwise_q8 *d;
	const uint8_t **at;	/* where the taps of a column are; two and two are a pair */
	size_t pairs;
	size_t step;		/* bytes from a column's taps to those of the next one */
};

/* Up to WIDTH bytes in 16 bits; signed: with a sign. Zero points are part of the bias. */
static inline ALWAYS_INLINE TARGET wide_q8 load_tap(const uint8_t *p, size_t count, bool is_signed)
{
	bytes_q8 bytes = { 0 };

	if (count >= WIDTH)
		memcpy(&bytes, p, WIDTH);
	else
		memcpy(&bytes, p, count);
	return is_signed ? WIDE_OF_SIGNED(bytes) : WIDE_OF_BYTES(bytes);
}

/*
 * `count` channels from `c` on of `columns` output columns, 1 or 2, whose taps are `from` bytes behind
 * where they are said to be.
 */
static inline ALWAYS_INLINE TARGET void run_block_pairs(const struct taps_q8 *t, int columns,
							size_t from, size_t c, size_t count,
							bool is_signed, const char *block,
							uint8_t *out)
{
	const struct nn_q8_scale *scales = (const struct nn_q8_scale *)block;
	const int16_t *w = (const int16_t *)(scales + NN_PANEL_VECTORS);
	const uint8_t *const *at = t->at;
	sums_q8 acc[2][NN_PANEL_VECTORS];

	UNROLL
	for (int i = 0; i < columns; i++) {
		memcpy(&acc[i][0], scales[0].bias, sizeof(acc[i][0]));
		memcpy(&acc[i][1], scales[1].bias, sizeof(acc[i][1]));
	}
	for (size_t k = 0; k < t->pairs; k++, at += 2, w += NN_PANEL_VECTORS * WIDTH) {
		wide_q8 b[NN_PANEL_VECTORS];

		memcpy(&b[0], w, sizeof(b[0]));
		memcpy(&b[1], w + WIDTH, sizeof(b[1]));
		UNROLL
		for (int i = 0; i < columns; i++) {
			const size_t place = from + (size_t)i * t->step + c;
			const wide_q8 x = load_tap(at[0] + place, count, is_signed);
			const wide_q8 y = load_tap(at[1] + place, count, is_signed);

			acc[i][0] += DOT(LOW_PAIRS(x, y), b[0]);
			acc[i][1] += DOT(HIGH_PAIRS(x, y), b[1]);
		}
	}
	UNROLL
	for (int i = 0; i < columns; i++) {
		acc[i][0] = scale_q8(acc[i][0], &scales[0]);
		acc[i][1] = scale_q8(acc[i][1], &scales[1]);
	}
	UNROLL
	for (int i = 0; i < columns; i++)
		store_q8(out + (size_t)i * t->d->channels, acc[i][0], acc[i][1], &t->d->output,
			 count);
}

/* The same of channels [c, end). */
static inline ALWAYS_INLINE TARGET void run_blocks_pairs(const struct taps_q8 *t, int columns,
							 size_t from, size_t c, size_t end,
							 bool is_signed, const char *block,
							 uint8_t *out)
{
	const size_t size = nn_q8_pairs_panel_size(LANES, 2 * t->pairs);

	for (; c + WIDTH <= end; c += WIDTH, block += size)
		run_block_pairs(t, columns, from, c, WIDTH, is_signed, block, out + c);
	if (c < end)
		run_block_pairs(t, columns, from, c, end - c, is_signed, block, out + c);
}

static TARGET void run_column(const struct taps_q8 *t, size_t c, size_t end, const char *block,
			      uint8_t *out)
{
	if (t->d->in_flip)
		run_blocks_pairs(t, 1, 0, c, end, true, block, out);
	else
		run_blocks_pairs(t, 1, 0, c, end, false, block, out);
}

static TARGET void run_two_columns(const struct taps_q8 *t, size_t from, size_t c, size_t end,
				   const char *block, uint8_t *out)
{
	if (t->d->in_flip)
		run_blocks_pairs(t, 2, from, c, end, true, block, out);
	else
		run_blocks_pairs(t, 2, from, c, end, false, block, out);
}

/*
 * Where the taps of output column `x` are; those of padding are at `padding`. One more, which is of no
 * weight where it makes a pair.
 */
static void find_taps(const struct nn_depthwise_q8 *d, size_t x, const uint8_t *padding,
		      const uint8_t **taps)
{
	const uint8_t **first = taps;
	ptrdiff_t start = (ptrdiff_t)(x * d->stride) - d->head;

	for (size_t i = 0; i < d->height; i++) {
		ptrdiff_t at = start;

		for (size_t j = 0; j < d->width; j++, at += (ptrdiff_t)d->dilation) {
			bool inside = d->rows[i] && at >= 0 && at < (ptrdiff_t)d->in_width;

			*taps++ = inside ? d->rows[i] + (size_t)at * d->channels : padding;
		}
	}
	*taps = *first;
}

/* Whether no tap of output column `x` is padding. */
static bool is_inside(const struct nn_depthwise_q8 *d, size_t x)
{
	ptrdiff_t start = (ptrdiff_t)(x * d->stride) - d->head;

	return start >= 0 &&
	       start + (ptrdiff_t)((d->width - 1) * d->dilation) < (ptrdiff_t)d->in_width;
}

/* Channels [c, end) of an output row. whole: no row of the window is padding. */
static void run_row_pairs(const struct taps_q8 *t, const uint8_t *padding, bool whole, size_t c,
			  size_t end, const char *block)
{
	const struct nn_depthwise_q8 *d = t->d;
	size_t x = 0, first;

	while (x < d->out_width) {
		find_taps(d, x, padding, t->at);
		if (!whole || !is_inside(d, x) || x + 1 == d->out_width || !is_inside(d, x + 1)) {
			run_column(t, c, end, block, d->out + x * d->channels);
			x++;
			continue;
		}
		for (first = x; x + 1 < d->out_width && is_inside(d, x + 1); x += 2)
			run_two_columns(t, (x - first) * t->step, c, end, block,
					d->out + x * d->channels);
	}
}

static void depthwise_q8(const struct nn_depthwise_q8 *d)
{
	const size_t pairs = (d->height * d->width + 1) / 2;
	const struct taps_q8 t = {
		.d = d,
		.at = (const uint8_t **)d->scratch,
		.pairs = pairs,
		.step = d->stride * d->channels,
	};
	uint8_t *padding = d->scratch + (2 * pairs + 1) * sizeof(*t.at);
	const char *block = (const char *)d->packed;
	bool whole = true;

	memset(padding, d->in_zero ^ d->in_flip, d->channels);
	for (size_t i = 0; i < d->height; i++)
		whole = whole && d->rows[i];
	for (size_t c = 0; c < d->channels; c += DEPTHWISE_BLOCKS * WIDTH) {
		size_t rest = d->channels - c, most = DEPTHWISE_BLOCKS * WIDTH;

		run_row_pairs(&t, padding, whole, c, c + (rest < most ? rest : most), block);
		block += DEPTHWISE_BLOCKS * nn_q8_pairs_panel_size(LANES, 2 * pairs);
	}
}
