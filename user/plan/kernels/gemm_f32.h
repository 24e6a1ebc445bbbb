/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of floats for one instruction set; whoever includes it defines
 * TARGET, LANES, ROWS, VF, LOAD, STORE, STORE_SOME, SPLAT, MADD, ADD, MIN and MAX.
 */
#include "plan/kernels/isa.h"
#include "plan/kernels/unroll.h"

/* Sums of one row to the result's row. Operands in this order let NaN pass, as the reference does. */
static inline ALWAYS_INLINE TARGET void store_tile_f32(int vectors, const struct nn_gemm_f32 *g,
						       const VF *acc, float *c, size_t columns)
{
	const VF low = SPLAT(g->low), high = SPLAT(g->high);

	UNROLL
	for (int v = 0; v < vectors; v++) {
		const VF value = MIN(high, MAX(low, acc[v]));

		if (columns >= (size_t)(v + 1) * LANES)
			STORE(c + v * LANES, value);
		else
			STORE_SOME(c + v * LANES, value, columns - (size_t)v * LANES);
	}
}

/* Sums that a single row is cut in: one alone would wait for itself. */
#define SPLITS 4

/* One row of a times one panel. */
static inline ALWAYS_INLINE TARGET void row_f32(int vectors, const struct nn_gemm_f32 *g,
						const float *a, const float *w, float *c,
						size_t columns)
{
	const size_t depth = g->depth;
	VF acc[SPLITS][NN_PANEL_VECTORS];
	size_t k = 0;

	UNROLL
	for (int v = 0; v < vectors; v++) {
		acc[0][v] = LOAD(w + v * LANES);
		UNROLL
		for (int i = 1; i < SPLITS; i++)
			acc[i][v] = SPLAT(0.0f);
	}
	w += vectors * LANES;
	for (; k + SPLITS <= depth; k += SPLITS, w += SPLITS * vectors * LANES) {
		UNROLL
		for (int i = 0; i < SPLITS; i++) {
			const VF x = SPLAT(a[k + (size_t)i]);

			UNROLL
			for (int v = 0; v < vectors; v++)
				acc[i][v] = MADD(x, LOAD(w + (i * vectors + v) * LANES), acc[i][v]);
		}
	}
	for (; k < depth; k++, w += vectors * LANES) {
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[0][v] = MADD(SPLAT(a[k]), LOAD(w + v * LANES), acc[0][v]);
	}
	UNROLL
	for (int i = 1; i < SPLITS; i++) {
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[0][v] = ADD(acc[0][v], acc[i][v]);
	}
	store_tile_f32(vectors, g, acc[0], c, columns);
}

/* `rows` of a times one panel of `vectors`; both constants, so that nothing is left of the loops. */
static inline ALWAYS_INLINE TARGET void tile_f32(int rows, int vectors,
						 const struct nn_gemm_f32 *g, size_t row,
						 const float *panel, float *c, size_t columns)
{
	const struct nn_gemm_part whole = { g->a, g->a_stride, 0, g->depth };
	const struct nn_gemm_part *part = g->parts ? g->parts : &whole;
	VF acc[ROWS][NN_PANEL_VECTORS];

	UNROLL
	for (int i = 0; i < rows; i++)
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[i][v] = LOAD(panel + v * LANES);
	for (size_t left = g->parts ? g->num_parts : 1; left > 0; left--, part++) {
		const size_t stride = part->stride, depth = part->count;
		const float *a = part->a + row * stride;
		const float *w = panel + part->first * (size_t)(vectors * LANES);
		/* Every third row has a pointer: the others are one index away. */
		const float *base[(ROWS + 2) / 3];

		UNROLL
		for (int i = 0; i < rows; i += 3)
			base[i / 3] = a + (size_t)i * stride;
		for (size_t k = 0; k < depth; k++) {
			VF b[NN_PANEL_VECTORS];

			w += vectors * LANES;
			UNROLL
			for (int v = 0; v < vectors; v++)
				b[v] = LOAD(w + v * LANES);
			UNROLL
			for (int i = 0; i < rows; i++) {
				const VF x = SPLAT(base[i / 3][(size_t)(i % 3) * stride + k]);

				UNROLL
				for (int v = 0; v < vectors; v++)
					acc[i][v] = MADD(x, b[v], acc[i][v]);
			}
		}
	}
	UNROLL
	for (int i = 0; i < rows; i++)
		store_tile_f32(vectors, g, acc[i], c + (size_t)i * g->c_stride, columns);
}

#define TILE_F32(rows, vectors)								\
static TARGET void tile_f32_##rows##_##vectors(const struct nn_gemm_f32 *g,		\
					       size_t row, const float *w, float *c,	\
					       size_t columns)				\
{											\
	if (rows == 1 && g->one_row)							\
		row_f32(vectors, g, g->a, w, c, columns);				\
	else										\
		tile_f32(rows, vectors, g, row, w, c, columns);				\
}
TILES(TILE_F32)

typedef void tile_f32_fn(const struct nn_gemm_f32 *g, size_t row, const float *w, float *c,
			 size_t columns);

#define TILE_F32_ENTRY(rows, vectors) { rows, vectors, tile_f32_##rows##_##vectors },
static const struct {
	uint8_t rows;
	uint8_t vectors;
	tile_f32_fn *fn;
} tiles_f32[] = { TILES(TILE_F32_ENTRY) };

/* All rows against one panel, the largest tiles first. */
static void panel_f32(const struct nn_gemm_f32 *g, uint32_t vectors, const float *w, float *c,
		      size_t columns)
{
	size_t row = 0;

	for (size_t t = 0; t < sizeof(tiles_f32) / sizeof(tiles_f32[0]); t++) {
		if (tiles_f32[t].vectors != vectors)
			continue;
		for (; g->rows - row >= tiles_f32[t].rows; row += tiles_f32[t].rows)
			tiles_f32[t].fn(g, row, w, c + row * g->c_stride, columns);
	}
}

static void gemm_f32(const struct nn_gemm_f32 *g)
{
	const float *w = g->panels;

	for (size_t at = 0; at < g->columns; at += NN_PANEL_VECTORS * LANES) {
		size_t columns = g->columns - at;
		uint32_t vectors = columns > LANES ? NN_PANEL_VECTORS : 1;

		panel_f32(g, vectors, w, g->c + at,
			  columns < vectors * LANES ? columns : vectors * LANES);
		w += vectors * LANES * (g->depth + 1);
	}
}
