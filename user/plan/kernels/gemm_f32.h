/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of floats for one instruction set; whoever includes it defines
 * TARGET, LANES, ROWS, VF, LOAD, STORE, STORE_SOME, SPLAT, MADD, ADD, MIN and MAX,
 * and CLAMP and MADD_LANE, which takes one of four lanes, where it has instructions for them.
 */
#include "plan/kernels/isa.h"
#include "plan/kernels/unroll.h"

/* Operands in this order let NaN pass, as the reference does. */
#ifndef CLAMP
#define CLAMP(x, low, high) MIN(high, MAX(low, x))
#endif

/* Sums of one row to the result's row. */
static inline ALWAYS_INLINE TARGET void store_tile_f32(int vectors, VF low, VF high,
						       const VF *acc, float *c, size_t columns)
{
	UNROLL
	for (int v = 0; v < vectors; v++) {
		const VF value = CLAMP(acc[v], low, high);

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
	store_tile_f32(vectors, SPLAT(g->low), SPLAT(g->high), acc[0], c, columns);
}

#ifdef MADD_LANE

#define STEP_F32 8		/* elements of depth that are taken at a time */

/* Element `at`, the lane `lane` of x, of a step. */
#define STEP_LANE(at, lane)								\
	do {										\
		VF b[NN_PANEL_VECTORS];							\
											\
		UNROLL									\
		for (int v = 0; v < vectors; v++)					\
			b[v] = LOAD(w + ((at) * vectors + v) * LANES);			\
		UNROLL									\
		for (int i = 0; i < rows; i++) {					\
			UNROLL								\
			for (int v = 0; v < vectors; v++)				\
				acc[i][v] = MADD_LANE(x[i], lane, b[v], acc[i][v]);	\
		}									\
	} while (0)

/* As many steps of the depth as there are, of rows that are read by vectors; returns their depth. */
static inline ALWAYS_INLINE TARGET size_t steps_f32(int rows, int vectors, const float *a,
						    size_t stride, size_t depth, const float *w,
						    VF acc[ROWS][NN_PANEL_VECTORS])
{
	const float *row[ROWS];
	size_t k = 0;

	UNROLL
	for (int i = 0; i < rows; i++)
		row[i] = a + (size_t)i * stride;
	for (; k + STEP_F32 <= depth; k += STEP_F32, w += STEP_F32 * vectors * LANES) {
		UNROLL
		for (int half = 0; half < STEP_F32; half += 4) {
			VF x[ROWS];

			UNROLL
			for (int i = 0; i < rows; i++)
				x[i] = LOAD(row[i] + k + half);
			STEP_LANE(half, 0);
			STEP_LANE(half + 1, 1);
			STEP_LANE(half + 2, 2);
			STEP_LANE(half + 3, 3);
		}
	}
	return k;
}

#else

static inline ALWAYS_INLINE TARGET size_t steps_f32(int rows, int vectors, const float *a,
						    size_t stride, size_t depth, const float *w,
						    VF acc[ROWS][NN_PANEL_VECTORS])
{
	(void)rows, (void)vectors, (void)a, (void)stride, (void)depth, (void)w, (void)acc;
	return 0;
}

#endif

/* Elements of the depth that are one part, for `rows` rows from `row` on. */
static inline ALWAYS_INLINE TARGET void part_f32(int rows, int vectors, const float *a,
						 size_t stride, size_t depth, const float *w,
						 VF acc[ROWS][NN_PANEL_VECTORS])
{
	/* Every third row has a pointer: the others are one index away. */
	const float *base[(ROWS + 2) / 3];
	size_t k = steps_f32(rows, vectors, a, stride, depth, w, acc);

	w += k * (size_t)(vectors * LANES);
	UNROLL
	for (int i = 0; i < rows; i += 3)
		base[i / 3] = a + (size_t)i * stride;
	for (; k < depth; k++, w += vectors * LANES) {
		VF b[NN_PANEL_VECTORS];

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

/* `rows` of a times one panel of `vectors`; both constants, so that nothing is left of the loops. */
static inline ALWAYS_INLINE TARGET void tile_f32(int rows, int vectors, bool parts,
						 const struct nn_gemm_f32 *g, size_t row,
						 const float *panel, float *c, size_t columns)
{
	const float *w = panel + vectors * LANES;
	const size_t c_stride = g->c_stride;
	VF acc[ROWS][NN_PANEL_VECTORS], low, high;

	UNROLL
	for (int i = 0; i < rows; i++)
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[i][v] = LOAD(panel + v * LANES);
	if (parts)
		for (size_t i = 0; i < g->num_parts; i++) {
			const struct nn_gemm_part *p = &g->parts[i];

			part_f32(rows, vectors, p->a + row * p->stride, p->stride, p->count,
				 w + p->first * (size_t)(vectors * LANES), acc);
		}
	else
		part_f32(rows, vectors, g->a + row * g->a_stride, g->a_stride, g->depth, w, acc);
	/* Read before the first store, which may change them as far as a compiler knows. */
	low = SPLAT(g->low);
	high = SPLAT(g->high);
	if (columns >= (size_t)vectors * LANES) {
		UNROLL
		for (int i = 0; i < rows; i++)
			store_tile_f32(vectors, low, high, acc[i], c + (size_t)i * c_stride,
				       (size_t)vectors * LANES);
		return;
	}
	UNROLL
	for (int i = 0; i < rows; i++)
		store_tile_f32(vectors, low, high, acc[i], c + (size_t)i * c_stride, columns);
}

/* As many tiles as there are from `row` on; returns the row behind them. */
static inline ALWAYS_INLINE TARGET size_t all_tiles_f32(int rows, int vectors, bool parts,
							const struct nn_gemm_f32 *g, size_t row,
							const float *w, float *c, size_t columns)
{
	for (; g->rows - row >= (size_t)rows; row += (size_t)rows)
		tile_f32(rows, vectors, parts, g, row, w, c + row * g->c_stride, columns);
	return row;
}

#define TILE_F32(rows, vectors)								\
static TARGET size_t whole_f32_##rows##_##vectors(const struct nn_gemm_f32 *g,		\
						  size_t row, const float *w, float *c,	\
						  size_t columns)			\
{											\
	return all_tiles_f32(rows, vectors, false, g, row, w, c, columns);		\
}											\
static TARGET size_t parts_f32_##rows##_##vectors(const struct nn_gemm_f32 *g,		\
						  size_t row, const float *w, float *c,	\
						  size_t columns)			\
{											\
	return all_tiles_f32(rows, vectors, true, g, row, w, c, columns);		\
}
TILES(TILE_F32)

#define TILE_F32_ENTRY(rows, vectors) \
	{ rows, vectors, { whole_f32_##rows##_##vectors, parts_f32_##rows##_##vectors } },
static const struct {
	uint8_t rows;
	uint8_t vectors;
	size_t (*fn[2])(const struct nn_gemm_f32 *g, size_t row, const float *w, float *c,
			size_t columns);	/* by whether there are parts */
} tiles_f32[] = { TILES(TILE_F32_ENTRY) };

static TARGET void one_row_f32(const struct nn_gemm_f32 *g, uint32_t vectors, const float *w,
			       float *c, size_t columns)
{
	if (vectors == 1)
		row_f32(1, g, g->a, w, c, columns);
	else
		row_f32(NN_PANEL_VECTORS, g, g->a, w, c, columns);
}

/* All rows against one panel, the largest tiles first. */
static void panel_f32(const struct nn_gemm_f32 *g, uint32_t vectors, const float *w, float *c,
		      size_t columns)
{
	size_t row = 0;

	if (g->one_row) {
		one_row_f32(g, vectors, w, c, columns);
		return;
	}
	for (size_t t = 0; t < sizeof(tiles_f32) / sizeof(tiles_f32[0]); t++)
		if (tiles_f32[t].vectors == vectors && g->rows - row >= tiles_f32[t].rows)
			row = tiles_f32[t].fn[!!g->parts](g, row, w, c, columns);
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
