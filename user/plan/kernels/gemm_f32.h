/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of floats, for all instruction sets. The includer defines TARGET, LANES, ROWS, VF,
 * LOAD, STORE, STORE_SOME, SPLAT, MADD, ADD, MIN and MAX. The includer also defines CLAMP if the
 * instruction set can clamp, and MADD_LANE if an instruction multiplies by one lane of a vector. If
 * the elements are not float32, the includer also defines NUM, the type of an element, and
 * SUM_MOST. At most SUM_MOST products are summed in a vector before the sum is added to the total.
 */
#if !defined(ADD) || !defined(LANES) || !defined(LOAD) || !defined(MADD) || !defined(MAX) || \
    !defined(MIN) || !defined(ROWS) || !defined(SPLAT) || !defined(STORE) || \
    !defined(STORE_SOME) || !defined(TARGET) || !defined(TILES) || !defined(VF)
#error "gemm_f32.h needs: ADD LANES LOAD MADD MAX MIN ROWS SPLAT STORE STORE_SOME TARGET TILES VF"
#endif

#include "plan/kernels/caches.h"
#include "plan/kernels/isa.h"
#include "plan/kernels/unroll.h"

#ifndef NUM
#define NUM float
#endif

/* The operands of MIN and MAX have the order in which NaN stays NaN, as in the reference kernel. */
#ifndef CLAMP
#define CLAMP(x, low, high) MIN(high, MAX(low, x))
#endif

/* Clamps the sums of one row, and stores them in the result. */
static inline ALWAYS_INLINE TARGET void store_tile_f32(int vectors, VF low, VF high,
						       const VF *acc, NUM *c, size_t columns)
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

/*
 * Number of partial sums that are computed for a single row. With only one sum, each addition would
 * wait for the preceding addition.
 */
#define SPLITS 4

/*
 * Adds `depth` products of a row and a panel to the partial sums. Returns the address of the weight
 * after the last used weight.
 */
static inline ALWAYS_INLINE TARGET const NUM *add_row_f32(int vectors, const NUM *a, size_t depth,
							  const NUM *w,
							  VF acc[SPLITS][NN_PANEL_VECTORS])
{
	size_t k = 0;

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
	return w;
}

static inline ALWAYS_INLINE TARGET void add_splits_f32(int vectors,
						       VF acc[SPLITS][NN_PANEL_VECTORS])
{
	UNROLL
	for (int i = 1; i < SPLITS; i++) {
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[0][v] = ADD(acc[0][v], acc[i][v]);
	}
}

/* Multiplies one row of `a` by one panel. */
static inline ALWAYS_INLINE TARGET void row_f32(int vectors, const struct nn_gemm_f32 *g,
						const NUM *a, const NUM *w, NUM *c,
						size_t columns)
{
	VF acc[SPLITS][NN_PANEL_VECTORS];

	UNROLL
	for (int v = 0; v < vectors; v++) {
		acc[0][v] = LOAD(w + v * LANES);
		UNROLL
		for (int i = 1; i < SPLITS; i++)
			acc[i][v] = SPLAT(0.0f);
	}
	w += vectors * LANES;
#ifdef SUM_MOST
	for (size_t k = 0, some; k < g->depth; k += some) {
		VF sums[SPLITS][NN_PANEL_VECTORS];

		some = g->depth - k < SUM_MOST * SPLITS ? g->depth - k : SUM_MOST * SPLITS;
		memset(sums, 0, sizeof(sums));
		w = add_row_f32(vectors, a + k, some, w, sums);
		add_splits_f32(vectors, sums);
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[0][v] = ADD(acc[0][v], sums[0][v]);
	}
#else
	add_row_f32(vectors, a, g->depth, w, acc);
	add_splits_f32(vectors, acc);
#endif
	store_tile_f32(vectors, SPLAT(g->low), SPLAT(g->high), acc[0], c, columns);
}

#ifdef MADD_LANE

#define STEP_F32 8		/* elements of the depth that one step multiplies */

/*
 * Multiplies weights by element `at` of a step. For each row i, lane `lane` of x[i] contains this
 * element.
 */
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

/*
 * Multiplies as many elements of the depth as can be read in whole vectors, and returns the number
 * of these elements.
 */
static inline ALWAYS_INLINE TARGET size_t steps_f32(int rows, int vectors, const NUM *a,
						    size_t stride, size_t depth, const NUM *w,
						    VF acc[ROWS][NN_PANEL_VECTORS])
{
	const NUM *row[ROWS];
	size_t k = 0;

	UNROLL
	for (int i = 0; i < rows; i++)
		row[i] = a + (size_t)i * stride;
	for (; k + STEP_F32 <= depth; k += STEP_F32, w += STEP_F32 * vectors * LANES) {
		UNROLL
		for (int at = 0; at < STEP_F32; at += LANES) {
			VF x[ROWS];

			UNROLL
			for (int i = 0; i < rows; i++)
				x[i] = LOAD(row[i] + k + at);
			STEP_LANE(at, 0);
			STEP_LANE(at + 1, 1);
			STEP_LANE(at + 2, 2);
			STEP_LANE(at + 3, 3);
#if LANES == 8
			STEP_LANE(at + 4, 4);
			STEP_LANE(at + 5, 5);
			STEP_LANE(at + 6, 6);
			STEP_LANE(at + 7, 7);
#endif
		}
	}
	return k;
}

#else

static inline ALWAYS_INLINE TARGET size_t steps_f32(int rows, int vectors, const NUM *a,
						    size_t stride, size_t depth, const NUM *w,
						    VF acc[ROWS][NN_PANEL_VECTORS])
{
	(void)rows, (void)vectors, (void)a, (void)stride, (void)depth, (void)w, (void)acc;
	return 0;
}

#endif

/* Adds the products of one part of the depth to the sums of `rows` rows. */
static inline ALWAYS_INLINE TARGET void part_f32(int rows, int vectors, const NUM *a,
						 size_t stride, size_t depth, const NUM *w,
						 VF acc[ROWS][NN_PANEL_VECTORS])
{
	/*
	 * Only every third row has a pointer; the next two rows begin one and two strides after the
	 * pointer.
	 */
	const NUM *base[(ROWS + 2) / 3];
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

#ifdef SUM_MOST

/*
 * Ends a piece of SUM_MOST elements of the depth: adds the sums of the piece to the totals. The
 * totals stay in memory, because there are not enough registers for totals and sums.
 */
static inline ALWAYS_INLINE TARGET void end_piece_f32(int rows, int vectors,
						      VF total[ROWS][NN_PANEL_VECTORS],
						      VF acc[ROWS][NN_PANEL_VECTORS])
{
	UNROLL
	for (int i = 0; i < rows; i++)
		UNROLL
		for (int v = 0; v < vectors; v++) {
			__asm__("" : "+m"(total[i][v]));
			total[i][v] = ADD(total[i][v], acc[i][v]);
			acc[i][v] = SPLAT(0.0f);
		}
}

/*
 * Adds the products of elements [first, first + depth) of the depth, in pieces of SUM_MOST
 * elements. Pieces always begin at multiples of SUM_MOST, not where the parts of a row begin. The
 * parts depend on the division of rows into tasks, but the pieces do not, so the results do not
 * depend on the division. Before the call, `acc` has the sums of the elements of piece number
 * `piece` that earlier calls added.
 */
static inline ALWAYS_INLINE TARGET size_t pieces_f32(int rows, int vectors, const NUM *a,
						     size_t stride, size_t first, size_t depth,
						     const NUM *w, size_t piece,
						     VF total[ROWS][NN_PANEL_VECTORS],
						     VF acc[ROWS][NN_PANEL_VECTORS])
{
	for (size_t k = 0, some; k < depth; k += some) {
		const size_t at = first + k, room = SUM_MOST - at % SUM_MOST;

		if (at / SUM_MOST != piece) {
			end_piece_f32(rows, vectors, total, acc);
			piece = at / SUM_MOST;
		}
		some = depth - k < room ? depth - k : room;
		part_f32(rows, vectors, a + k, stride, some, w + at * (size_t)(vectors * LANES), acc);
	}
	return piece;
}

/* Adds the products of elements [first, first + depth) of the depth to the sums of a tile. */
#define ADD_PART(a, stride, first, depth)						\
	(piece = pieces_f32(rows, vectors, a, stride, first, depth, w, piece, total, acc))

#else
#define ADD_PART(a, stride, first, depth)						\
	part_f32(rows, vectors, a, stride, depth, w + (first) * (size_t)(vectors * LANES), acc)
#endif

/*
 * Multiplies `rows` rows of `a` by a panel of `vectors` vectors. `rows` and `vectors` are
 * constants, so that compilers unroll the loops completely.
 */
static inline ALWAYS_INLINE TARGET void tile_f32(int rows, int vectors, bool parts,
						 const struct nn_gemm_f32 *g, size_t row,
						 const NUM *panel, NUM *c, size_t columns)
{
	const NUM *w = panel + vectors * LANES;
	const size_t c_stride = g->c_stride;
	VF acc[ROWS][NN_PANEL_VECTORS], low, high;
#ifdef SUM_MOST
	VF total[ROWS][NN_PANEL_VECTORS];
	size_t piece = 0;
#endif

	UNROLL
	for (int i = 0; i < rows; i++)
		UNROLL
		for (int v = 0; v < vectors; v++) {
#ifdef SUM_MOST
			total[i][v] = LOAD(panel + v * LANES);
			acc[i][v] = SPLAT(0.0f);
#else
			acc[i][v] = LOAD(panel + v * LANES);
#endif
		}
	if (parts)
		for (size_t i = 0; i < g->num_parts; i++) {
			const struct nn_gemm_part *p = &g->parts[i];

			ADD_PART((const NUM *)p->a + row * p->stride, p->stride, p->first,
				 p->count);
		}
	else
		ADD_PART((const NUM *)g->a + row * g->a_stride, g->a_stride, 0, g->depth);
#ifdef SUM_MOST
	UNROLL
	for (int i = 0; i < rows; i++)
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[i][v] = ADD(total[i][v], acc[i][v]);
#endif
	/*
	 * Read g->low and g->high before the first store, because the compiler must assume that a
	 * store changes g->low and g->high.
	 */
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

/*
 * Computes as many tiles of `rows` rows as fit, beginning at row `row`. Returns the row after the
 * last computed tile.
 */
static inline ALWAYS_INLINE TARGET size_t all_tiles_f32(int rows, int vectors, bool parts,
							const struct nn_gemm_f32 *g, size_t row,
							const NUM *w, NUM *c, size_t columns)
{
	for (; g->rows - row >= (size_t)rows; row += (size_t)rows)
		tile_f32(rows, vectors, parts, g, row, w, c + row * g->c_stride, columns);
	return row;
}

#define TILE_F32(rows, vectors)								\
static TARGET size_t whole_f32_##rows##_##vectors(const struct nn_gemm_f32 *g,		\
						  size_t row, const NUM *w, NUM *c,	\
						  size_t columns)			\
{											\
	return all_tiles_f32(rows, vectors, false, g, row, w, c, columns);		\
}											\
static TARGET size_t parts_f32_##rows##_##vectors(const struct nn_gemm_f32 *g,		\
						  size_t row, const NUM *w, NUM *c,	\
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
	size_t (*fn[2])(const struct nn_gemm_f32 *g, size_t row, const NUM *w, NUM *c,
			size_t columns);	/* fn[1] multiplies rows that consist of parts */
} tiles_f32[] = { TILES(TILE_F32_ENTRY) };

static TARGET void one_row_f32(const struct nn_gemm_f32 *g, uint32_t vectors, const NUM *w,
			       NUM *c, size_t columns)
{
	if (vectors == 1)
		row_f32(1, g, g->a, w, c, columns);
	else
		row_f32(NN_PANEL_VECTORS, g, g->a, w, c, columns);
}

/*
 * Multiplies all rows of the product by one panel, first with the largest tiles. Uses only tiles
 * whose rows all fit in the first-level cache.
 */
static void panel_f32(const struct nn_gemm_f32 *g, uint32_t vectors, const NUM *w, NUM *c,
		      size_t columns)
{
	const size_t most = nn_near_rows((g->parts ? g->parts->stride : g->a_stride) * sizeof(NUM));
	size_t row = 0;

	if (g->one_row) {
		one_row_f32(g, vectors, w, c, columns);
		return;
	}
	for (size_t t = 0; t < sizeof(tiles_f32) / sizeof(tiles_f32[0]); t++)
		if (tiles_f32[t].vectors == vectors && tiles_f32[t].rows <= most &&
		    g->rows - row >= tiles_f32[t].rows)
			row = tiles_f32[t].fn[!!g->parts](g, row, w, c, columns);
}

static void gemm_f32(const struct nn_gemm_f32 *g)
{
	const NUM *w = g->panels;

	for (size_t at = 0; at < g->columns; at += NN_PANEL_VECTORS * LANES) {
		size_t columns = g->columns - at;
		uint32_t vectors = columns > LANES ? NN_PANEL_VECTORS : 1;

		panel_f32(g, vectors, w, (NUM *)g->c + at,
			  columns < vectors * LANES ? columns : vectors * LANES);
		w += vectors * LANES * (g->depth + 1);
	}
}
