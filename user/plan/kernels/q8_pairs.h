/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix products for instruction sets without VNNI: numbers are widened to 16 bits, and
 * products are summed in pairs. Rows are widened before the product; weights are widened when they
 * are loaded. The includer defines TARGET, LANES (of 32 bits), Q8_ROWS, and the functions
 * scale_q8() and store_q8(). DOT multiplies 16-bit numbers and adds adjacent products. LOW_PAIRS
 * and HIGH_PAIRS interleave 16-bit numbers of two vectors, for every four lanes separately.
 */
#if !defined(DOT) || !defined(LANES) || !defined(Q8_ROWS) || !defined(TARGET)
#error "q8_pairs.h needs: DOT LANES Q8_ROWS TARGET"
#endif

#include <string.h>

#include "plan/kernels/wide_q8.h"

/* Number of rows that are widened at a time. */
#define WIDE_ROWS NN_Q8_WIDE_ROWS

/*
 * Widens a row of `depth` values to 16 bits. If `depth` is odd, a 0 is appended to the widened row.
 * The zero point is not subtracted from packed weights. Returns the number that corrects the row's
 * sums for the weights' zero point; each sum of the row begins at the bias plus this number.
 */
static TARGET int32_t widen_row(const struct nn_gemm_q8 *g, const uint8_t *a, int16_t *to)
{
	const uint8_t flip = g->a_flip;
	const int32_t zero = g->a_zero;
	const size_t depth = g->depth;
	sums_q8 sums = { 0 };
	uint32_t sum = 0;
	size_t k = 0;

	for (; k + WIDTH <= depth; k += WIDTH) {
		const wide_q8 x = load_wide(a + k, WIDTH, flip, zero);

		memcpy(to + k, &x, sizeof(x));
		sums += DOT(x, (wide_q8){ 0 } + 1);
	}
	for (; k < depth; k++) {
		to[k] = (int16_t)((a[k] ^ flip) - zero);
		sum += (uint32_t)to[k];
	}
	if (depth % 2)
		to[k] = 0;
	for (int i = 0; i < LANES; i++)
		sum += (uint32_t)sums[i];
	return (int32_t)(sum * -(uint32_t)g->b_zero);
}

/* Widened rows, and the corrections that are added to the biases of each row. */
struct wide_rows {
	const int16_t *values;
	size_t stride;
	const int32_t *starts;
};

/* Multiplies `rows` rows by a panel. */
static inline ALWAYS_INLINE TARGET void run_pairs(int rows, const struct nn_gemm_q8 *g,
						  struct wide_rows a, const void *panel,
						  uint8_t *c, int32_t *to, size_t columns)
{
	const uint8_t *w = (const uint8_t *)panel + nn_q8_scales_size(LANES, NN_PANEL_VECTORS);
	const struct nn_q8_output out = g->out;
	const size_t depth = g->depth;
	sums_q8 acc[Q8_ROWS][NN_PANEL_VECTORS];

	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < NN_PANEL_VECTORS; v++) {
			memcpy(&acc[i][v], nn_q8_scale_of(panel, LANES, v)->bias,
			       sizeof(acc[i][v]));
			acc[i][v] += a.starts[i];
		}
	}
	for (size_t k = 0; k < depth; k += 2, w += NN_PANEL_VECTORS * WIDTH) {
		wide_q8 b[NN_PANEL_VECTORS];

		UNROLL
		for (int v = 0; v < NN_PANEL_VECTORS; v++) {
			bytes_q8 bytes;

			memcpy(&bytes, w + v * WIDTH, sizeof(bytes));
			b[v] = WIDE_OF_SIGNED(bytes);
		}
		UNROLL
		for (int i = 0; i < rows; i++) {
			int32_t pair;

			memcpy(&pair, a.values + (size_t)i * a.stride + k, sizeof(pair));
			UNROLL
			for (int v = 0; v < NN_PANEL_VECTORS; v++)
				acc[i][v] += DOT((wide_q8)(pair - (sums_q8){ 0 }), b[v]);
		}
	}
	if (to) {
		UNROLL
		for (int i = 0; i < rows; i++) {
			UNROLL
			for (int v = 0; v < NN_PANEL_VECTORS; v++) {
				const sums_q8 x = acc[i][v];

				nn_q8_store_sums(to + (size_t)i * g->sums_stride, &x, LANES,
						 (size_t)v, NN_PANEL_VECTORS);
			}
		}
		return;
	}
	/*
	 * All scales are loaded before the first result is stored, because the compiler must assume
	 * that a store changes the scales.
	 */
	UNROLL
	for (int v = 0; v < NN_PANEL_VECTORS; v++) {
		UNROLL
		for (int i = 0; i < rows; i++)
			acc[i][v] = scale_q8(acc[i][v], nn_q8_scale_of(panel, LANES, v));
	}
	UNROLL
	for (int i = 0; i < rows; i++)
		store_q8(c + (size_t)i * g->c_stride, acc[i][0], acc[i][1], &out, columns);
}

static TARGET void run_rows(const struct nn_gemm_q8 *g, struct wide_rows a, const void *panel,
			    uint8_t *c, int32_t *to, size_t columns)
{
	run_pairs(Q8_ROWS, g, a, panel, c, to, columns);
}

static TARGET void run_one_row(const struct nn_gemm_q8 *g, struct wide_rows a, const void *panel,
			       uint8_t *c, int32_t *to, size_t columns)
{
	run_pairs(1, g, a, panel, c, to, columns);
}

/*
 * Returns the number of rows of the next tile, which begins at row *i. If three or more rows are
 * left, but too few for a full tile, moves *i back to fill the tile. Computing some rows twice is
 * faster than computing each row alone.
 */
static size_t tile_rows(size_t rows, size_t *i)
{
	const size_t left = rows - *i;

	if (left > 2 && left < Q8_ROWS && rows >= Q8_ROWS)
		*i = rows - Q8_ROWS;
	return rows - *i >= Q8_ROWS ? Q8_ROWS : 1;
}

static TARGET void gemm_q8(const struct nn_gemm_q8 *g)
{
	const size_t stride = nn_q8_wide_stride(g->depth);
	const size_t panel_size = nn_q8_pairs_panel_size(LANES, g->depth, 1);
	int32_t starts[WIDE_ROWS];

	for (size_t row = 0; row < g->rows; row += WIDE_ROWS) {
		size_t rows = g->rows - row < WIDE_ROWS ? g->rows - row : WIDE_ROWS;
		const char *panel = g->panels;

		for (size_t i = 0; i < rows; i++)
			starts[i] = widen_row(g, g->a + (row + i) * g->a_stride, g->wide + i * stride);
		for (size_t at = 0; at < g->columns; at += WIDTH, panel += panel_size) {
			uint8_t *c = g->c + row * g->c_stride + at;
			size_t step;

			for (size_t i = 0; i < rows; i += step) {
				struct wide_rows a = { .stride = stride };
				int32_t *to = g->sums;

				step = tile_rows(rows, &i);
				a.values = g->wide + i * stride;
				a.starts = starts + i;
				if (to)
					to += (row + i) * g->sums_stride + at;
				if (step > 1)
					run_rows(g, a, panel, c + i * g->c_stride, to,
						 g->columns - at);
				else
					run_one_row(g, a, panel, c + i * g->c_stride, to,
						    g->columns - at);
			}
		}
	}
}
