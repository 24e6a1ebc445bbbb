/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with VNNI, written once for several instruction sets. The includer defines
 * TARGET, LANES (of 32 bits), the vector type VI, ROWS (rows of the largest tile), TILES,
 * SPLAT_BYTE, SPLAT, XOR and LOAD. DPBUSD(sums, a, b) adds the products of four unsigned bytes of a
 * and four signed bytes of b to each sum. SCALE, STORE_ONE and STORE_TWO convert sums to outputs.
 * PRODUCT is the name of the function to define. correct_block() computes, for up to BLOCK rows,
 * the corrections for b's zero point. If DPBUSD may saturate, the includer also defines SPLITS,
 * HALVE and SUBTRACT_BYTES.
 */
#if !defined(BLOCK) || !defined(DPBUSD) || !defined(LANES) || !defined(LOAD) || \
    !defined(PRODUCT) || !defined(ROWS) || !defined(SCALE) || !defined(SPLAT) || \
    !defined(SPLAT_BYTE) || !defined(STORE_ONE) || !defined(STORE_TWO) || !defined(TARGET) || \
    !defined(TILES) || !defined(VI) || !defined(XOR)
#error "gemm_q8_vnni.h needs: BLOCK DPBUSD LANES LOAD PRODUCT ROWS SCALE SPLAT SPLAT_BYTE STORE_ONE STORE_TWO TARGET TILES VI XOR"
#endif

#if defined(SPLITS) && (!defined(HALVE) || !defined(SUBTRACT_BYTES))
#error "gemm_q8_vnni.h needs with SPLITS: HALVE SUBTRACT_BYTES"
#endif

#include <string.h>

#include "plan/kernels/caches.h"
#include "plan/kernels/isa.h"
#include "plan/kernels/quant8.h"
#include "plan/kernels/unroll.h"

#define WIDTH (4 * LANES)	/* bytes of a vector */

typedef int32_t sums_q8 __attribute__((vector_size(WIDTH)));

/* The input and the output of a tile. */
struct tile {
	const struct nn_gemm_q8 *g;
	const uint8_t *a;
	/* for each row, the correction for the weights' zero point */
	const int32_t *corrections;
	const void *panel;
	uint8_t *c;
	int32_t *sums;			/* result as int32 sums; NULL: the results are bytes */
	size_t columns;
};

/* Pointers to the rows of a tile, and the sums of each row so far. */
struct rows {
	const uint8_t *base[(ROWS + 2) / 3];
	size_t stride;
	VI flip;
	sums_q8 acc[ROWS][NN_PANEL_VECTORS];
};

/* Adds the products of four elements of the depth, from element `k` on, for each row. */
static inline ALWAYS_INLINE TARGET void add_four(int rows, int vectors, bool flips, size_t k,
						 const VI *b, struct rows *r)
{
	UNROLL
	for (int i = 0; i < rows; i++) {
		int32_t bytes;
		VI x;

		memcpy(&bytes, r->base[i / 3] + (size_t)(i % 3) * r->stride + k, sizeof(bytes));
		x = flips ? XOR(SPLAT(bytes), r->flip) : SPLAT(bytes);
		UNROLL
		for (int v = 0; v < vectors; v++)
			r->acc[i][v] = (sums_q8)DPBUSD((VI)r->acc[i][v], x, b[v]);
	}
}

static inline ALWAYS_INLINE TARGET void load_four(int vectors, const int8_t *w, VI *b)
{
	UNROLL
	for (int v = 0; v < vectors; v++)
		b[v] = LOAD(w + v * WIDTH);
}

#ifdef SPLITS
/*
 * Some weights are split into two halves: one half is in the panel, the other half is a spare byte.
 * Adds the products of the panel's spare bytes. If there are too few spare bytes, also halves all
 * weights `w` and adds the products of both halves, and returns true. The positions of spare bytes
 * may come from a damaged file, so they are checked before addresses are computed.
 */
static inline ALWAYS_INLINE TARGET bool add_spares(int rows, int vectors, bool flips, size_t depth,
						   const int8_t *w, const struct nn_q8_spares *s,
						   struct rows *r)
{
	const size_t most = nn_q8_most_spares(depth);
	const int8_t *spare = nn_q8_spare_bytes(s, depth);
	VI b[NN_PANEL_VECTORS], half[NN_PANEL_VECTORS];

	for (size_t i = 0; i < s->count && i < most; i++, spare += vectors * WIDTH) {
		load_four(vectors, spare, b);
		add_four(rows, vectors, flips, s->places[i] < depth ?
			 s->places[i] / NN_Q8_GROUP * NN_Q8_GROUP : 0, b, r);
	}
	for (size_t k = 0; s->too_many && k < depth; k += NN_Q8_GROUP, w += vectors * WIDTH) {
		load_four(vectors, w, b);
		UNROLL
		for (int v = 0; v < vectors; v++) {
			half[v] = HALVE(b[v]);
			b[v] = SUBTRACT_BYTES(b[v], half[v]);
		}
		add_four(rows, vectors, flips, k, b, r);
		add_four(rows, vectors, flips, k, half, r);
	}
	return s->too_many;
}
#endif

static inline ALWAYS_INLINE TARGET void add_panel(int rows, int vectors, bool flips, size_t depth,
						  const void *panel, struct rows *r)
{
	const int8_t *w = (const int8_t *)panel + nn_q8_scales_size(LANES, (size_t)vectors);
	VI b[NN_PANEL_VECTORS];

#ifdef SPLITS
	if (add_spares(rows, vectors, flips, depth, w, (const void *)((const char *)panel +
		       nn_q8_panel_size(LANES, (size_t)vectors, depth)), r))
		return;
#endif
	for (size_t k = 0; k < depth; k += NN_Q8_GROUP, w += vectors * WIDTH) {
		load_four(vectors, w, b);
		add_four(rows, vectors, flips, k, b, r);
	}
}

static inline ALWAYS_INLINE TARGET void run_tile(int rows, int vectors, bool positive,
						 const struct tile *t)
{
	const struct nn_gemm_q8 *g = t->g;
	const struct nn_q8_output out = g->out;
	struct rows r = { .stride = g->a_stride, .flip = SPLAT_BYTE(g->a_flip) };

	UNROLL
	for (int i = 0; i < rows; i += 3)
		r.base[i / 3] = t->a + (size_t)i * g->a_stride;
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < vectors; v++) {
			memcpy(&r.acc[i][v], nn_q8_scale_of(t->panel, LANES, v)->bias,
			       sizeof(r.acc[i][v]));
			r.acc[i][v] += t->corrections[i];
		}
	}
	if (g->a_flip)
		add_panel(rows, vectors, true, g->depth, t->panel, &r);
	else
		add_panel(rows, vectors, false, g->depth, t->panel, &r);
	if (t->sums) {
		UNROLL
		for (int i = 0; i < rows; i++) {
			UNROLL
			for (int v = 0; v < vectors; v++) {
				const sums_q8 x = r.acc[i][v];

				nn_q8_store_sums(t->sums + (size_t)i * g->sums_stride, &x, LANES,
						 (size_t)v, (size_t)vectors);
			}
		}
		return;
	}
	/*
	 * All scales are loaded before the first result is stored, because the compiler must assume
	 * that a store changes the scales.
	 */
	UNROLL
	for (int v = 0; v < vectors; v++) {
		UNROLL
		for (int i = 0; i < rows; i++)
			r.acc[i][v] = (sums_q8)SCALE((VI)r.acc[i][v],
						 nn_q8_scale_of(t->panel, LANES, v), positive);
	}
	UNROLL
	for (int i = 0; i < rows; i++) {
		uint8_t *c = t->c + (size_t)i * g->c_stride;

		if (vectors == 1)
			STORE_ONE(c, (VI)r.acc[i][0], &out, t->columns);
		else
			STORE_TWO(c, (VI)r.acc[i][0], (VI)r.acc[i][1], &out, t->columns);
	}
}

#define TILE(rows, vectors)							\
static TARGET void tile_##rows##_##vectors(const struct tile *t)		\
{										\
	run_tile(rows, vectors, false, t);					\
}										\
										\
static TARGET void positive_##rows##_##vectors(const struct tile *t)		\
{										\
	run_tile(rows, vectors, true, t);					\
}
TILES(TILE)

#define TILE_ENTRY(rows, vectors) \
	{ rows, vectors, { tile_##rows##_##vectors, positive_##rows##_##vectors } },
static const struct {
	uint8_t rows;
	uint8_t vectors;
	void (*fn[2])(const struct tile *t);	/* indexed by `positive` */
} tiles[] = { TILES(TILE_ENTRY) };

/*
 * Multiplies `rows` rows, from row `row` on, by one panel. Begins with the largest tiles whose rows
 * all fit in the first-level cache.
 */
static void run_panel(const struct nn_gemm_q8 *g, size_t row, size_t rows, size_t column,
		      const void *panel, const int32_t *corrections)
{
	const size_t columns = g->columns - column;
	const uint32_t vectors = columns > LANES ? NN_PANEL_VECTORS : 1;
	const bool positive = nn_q8_is_positive(&g->out);
	size_t done = 0;

	for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
		if (tiles[i].vectors != vectors || tiles[i].rows > nn_near_rows(g->a_stride))
			continue;
		for (; rows - done >= tiles[i].rows; done += tiles[i].rows) {
			const struct tile t = {
				.g = g,
				.a = g->a + (row + done) * g->a_stride,
				.corrections = corrections + done,
				.panel = panel,
				.c = g->c + (row + done) * g->c_stride + column,
				.sums = g->sums ? g->sums + (row + done) * g->sums_stride + column :
						  NULL,
				.columns = columns,
			};

			tiles[i].fn[positive](&t);
		}
	}
}

TARGET void PRODUCT(const struct nn_gemm_q8 *g)
{
	const size_t panel_size = nn_q8_panel_size(LANES, NN_PANEL_VECTORS, g->depth)
#ifdef SPLITS
				  + nn_q8_spares_size(NN_PANEL_VECTORS, LANES, g->depth)
#endif
		;
	int32_t corrections[BLOCK] = { 0 };

	for (size_t row = 0; row < g->rows; row += BLOCK) {
		const size_t rows = g->rows - row < BLOCK ? g->rows - row : BLOCK;
		const char *panel = g->panels;

		if (g->b_zero)
			correct_block(g, g->a + row * g->a_stride, rows, corrections);
		for (size_t at = 0; at < g->columns; at += NN_PANEL_VECTORS * LANES) {
			run_panel(g, row, rows, at, panel, corrections);
			panel += panel_size;
		}
	}
}
