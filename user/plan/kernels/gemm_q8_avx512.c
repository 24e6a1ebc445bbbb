/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of bytes with AVX-512 VNNI.
 */
#if defined(__x86_64__)

#include <string.h>

#include "plan/kernels/caches.h"
#include "plan/kernels/q8_avx512.h"

#define TARGET NN_TARGET_VNNI
#define LANES 16
#define ROWS 14
#define GROUP 4		/* elements of depth that one instruction takes */

/* Four bytes of a row in every lane. */
static inline ALWAYS_INLINE TARGET __m512i splat(const uint8_t *p, __m512i flip)
{
	int32_t bytes;

	memcpy(&bytes, p, sizeof(bytes));
	return _mm512_xor_si512(_mm512_set1_epi32(bytes), flip);
}

/* Rows that are summed at a time: a lane each. */
#define SUM_ROWS 16

/* Rows whose corrections are computed at a time. */
#define BLOCK (SUM_ROWS * ROWS)

/* Of two vectors: the first part of 128 bits and the second one, the third and the fourth. */
static inline ALWAYS_INLINE TARGET i32x16 sum_parts(i32x16 x, i32x16 y)
{
	return (i32x16)_mm512_shuffle_i32x4((__m512i)x, (__m512i)y, 0x88) +
	       (i32x16)_mm512_shuffle_i32x4((__m512i)x, (__m512i)y, 0xdd);
}

/* The sums of sixteen vectors, each in the lane of its number. */
static inline ALWAYS_INLINE TARGET i32x16 sum_lanes(i32x16 x[SUM_ROWS])
{
	/* In each part of 128 bits: two sums of two vectors, then one of four. */
	UNROLL
	for (int i = 0; i < 8; i++)
		x[i] = (i32x16)_mm512_unpacklo_epi32((__m512i)x[2 * i], (__m512i)x[2 * i + 1]) +
		       (i32x16)_mm512_unpackhi_epi32((__m512i)x[2 * i], (__m512i)x[2 * i + 1]);
	UNROLL
	for (int i = 0; i < 4; i++)
		x[i] = (i32x16)_mm512_unpacklo_epi64((__m512i)x[2 * i], (__m512i)x[2 * i + 1]) +
		       (i32x16)_mm512_unpackhi_epi64((__m512i)x[2 * i], (__m512i)x[2 * i + 1]);
	x[0] = sum_parts(x[0], x[1]);
	x[1] = sum_parts(x[2], x[3]);
	return sum_parts(x[0], x[1]);
}

/* What b's zero point takes away from each of SUM_ROWS rows, `stride` apart. */
static TARGET void correct_rows(const struct nn_gemm_q8 *g, const uint8_t *a, size_t stride,
				int32_t *corrections)
{
	const __m512i flip = _mm512_set1_epi8((char)g->a_flip);
	i32x16 sums[SUM_ROWS];

	UNROLL
	for (size_t i = 0; i < SUM_ROWS; i++)
		sums[i] = (i32x16){ 0 };
	for (size_t k = 0; k < g->depth; k += 64) {
		const size_t left = g->depth - k;
		const __mmask64 mask = left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
		const __m512i ones = _mm512_maskz_set1_epi8(mask, 1);

		UNROLL
		for (size_t i = 0; i < SUM_ROWS; i++) {
			const __m512i x = _mm512_maskz_loadu_epi8(mask, a + i * stride + k);

			sums[i] = (i32x16)_mm512_dpbusd_epi32((__m512i)sums[i],
							      _mm512_xor_si512(x, flip), ones);
		}
	}
	sums[0] = sum_lanes(sums) * -g->b_zero;
	memcpy(corrections, &sums[0], sizeof(sums[0]));
}

/* The same of up to BLOCK rows; fewer than SUM_ROWS are summed one by one. */
static void correct_block(const struct nn_gemm_q8 *g, const uint8_t *a, size_t rows,
			  int32_t *corrections)
{
	const size_t step = rows < SUM_ROWS ? 1 : SUM_ROWS;

	for (size_t i = 0; i < rows; i += step) {
		size_t first = rows - i < step ? rows - step : i;

		correct_rows(g, a + first * g->a_stride, rows < SUM_ROWS ? 0 : g->a_stride,
			     corrections + first);
	}
}

/* Scaled values of one row, in 32 bits a value, to the bytes of up to 16 columns. */
static inline ALWAYS_INLINE TARGET void store_one(uint8_t *c, __m512i x,
						  const struct nn_q8_output *o, size_t columns)
{
	x = _mm512_add_epi32(x, _mm512_set1_epi32(o->zero));
	x = _mm512_max_epi32(x, _mm512_set1_epi32(o->low));
	x = _mm512_min_epi32(x, _mm512_set1_epi32(o->high));
	if (columns >= LANES)
		_mm_storeu_si128((__m128i *)c, _mm512_cvtepi32_epi8(x));
	else
		_mm_mask_storeu_epi8(c, (__mmask16)((1u << columns) - 1), _mm512_cvtepi32_epi8(x));
}

/* A tile: where its rows begin, what it makes of them. */
struct tile {
	const struct nn_gemm_q8 *g;
	const uint8_t *a;
	const int32_t *corrections;	/* one a row: what b's zero point takes away */
	const void *panel;
	uint8_t *c;
	size_t columns;
};

static inline ALWAYS_INLINE TARGET void run_tile(int rows, int vectors, bool positive,
						  const struct tile *t)
{
	const struct nn_gemm_q8 *g = t->g;
	const struct nn_q8_scale *scales = t->panel;
	const int8_t *w = (const int8_t *)(scales + vectors);
	const __m512i flip = _mm512_set1_epi8((char)g->a_flip);
	const size_t stride = g->a_stride, depth = g->depth;
	const uint8_t *base[(ROWS + 2) / 3];
	i32x16 acc[ROWS][NN_PANEL_VECTORS];

	UNROLL
	for (int i = 0; i < rows; i += 3)
		base[i / 3] = t->a + (size_t)i * stride;
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < vectors; v++)
			acc[i][v] = (i32x16)_mm512_loadu_si512(scales[v].bias) +
				    (i32x16)_mm512_set1_epi32(t->corrections[i]);
	}
	for (size_t k = 0; k < depth; k += GROUP, w += vectors * 64) {
		__m512i b[NN_PANEL_VECTORS];

		UNROLL
		for (int v = 0; v < vectors; v++)
			b[v] = _mm512_loadu_si512(w + v * 64);
		UNROLL
		for (int i = 0; i < rows; i++) {
			const __m512i x = splat(base[i / 3] + (size_t)(i % 3) * stride + k, flip);

			UNROLL
			for (int v = 0; v < vectors; v++)
				acc[i][v] = (i32x16)_mm512_dpbusd_epi32((__m512i)acc[i][v], x,
								       b[v]);
		}
	}
	UNROLL
	for (int v = 0; v < vectors; v++) {
		const struct q8_scale scale = q8_scale_load(&scales[v]);

		UNROLL
		for (int i = 0; i < rows; i++)
			acc[i][v] = (i32x16)q8_scaled((__m512i)acc[i][v], &scale, positive);
	}
	UNROLL
	for (int i = 0; i < rows; i++) {
		uint8_t *c = t->c + (size_t)i * g->c_stride;

		if (vectors == 1)
			store_one(c, (__m512i)acc[i][0], &g->out, t->columns);
		else
			q8_store_two(c, (__m512i)acc[i][0], (__m512i)acc[i][1], &g->out,
				     t->columns);
	}
}

#define TILES(T) T(14, 2) T(7, 2) T(4, 2) T(2, 2) T(1, 2) T(14, 1) T(7, 1) T(4, 1) T(2, 1) T(1, 1)

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
	void (*fn[2])(const struct tile *t);	/* by q8_is_positive() */
} tiles[] = { TILES(TILE_ENTRY) };

/* `rows` rows from `row` on against one panel, the largest tiles first whose rows are near. */
static void run_panel(const struct nn_gemm_q8 *g, size_t row, size_t rows, size_t column,
		      const void *panel, const int32_t *corrections)
{
	size_t columns = g->columns - column, done = 0;
	uint32_t vectors = columns > LANES ? NN_PANEL_VECTORS : 1;

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
				.columns = columns,
			};

			tiles[i].fn[q8_is_positive(&g->out)](&t);
		}
	}
}

TARGET void nn_gemm_q8_avx512(const struct nn_gemm_q8 *g)
{
	const size_t panel_size = nn_q8_panel_size(LANES, NN_PANEL_VECTORS, g->depth);
	int32_t corrections[BLOCK] = { 0 };

	for (size_t row = 0; row < g->rows; row += BLOCK) {
		size_t rows = g->rows - row < BLOCK ? g->rows - row : BLOCK;
		const char *panel = g->panels;

		if (g->b_zero)
			correct_block(g, g->a + row * g->a_stride, rows, corrections);
		for (size_t at = 0; at < g->columns; at += NN_PANEL_VECTORS * LANES) {
			run_panel(g, row, rows, at, panel, corrections);
			panel += panel_size;
		}
	}
}

#endif
