/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of bytes with VNNI in vectors of 256 bits. Whoever includes it defines TARGET;
 * DPBUSD, which adds products of four unsigned and four signed bytes; and PRODUCT, its name.
 */
#include <string.h>

#include "plan/kernels/q8_avx2.h"

#define LANES 8
#define ROWS 6
#define WIDTH 32		/* bytes of a vector */

typedef int32_t i32x8 __attribute__((vector_size(WIDTH)));

/* Four bytes of a row in every lane. */
static inline ALWAYS_INLINE TARGET __m256i splat(const uint8_t *p, __m256i flip)
{
	int32_t bytes;

	memcpy(&bytes, p, sizeof(bytes));
	return _mm256_xor_si256(_mm256_set1_epi32(bytes), flip);
}

/* What b's zero point takes away from a row. */
static TARGET int32_t correct_row(const struct nn_gemm_q8 *g, const uint8_t *a)
{
	const __m256i flip = _mm256_set1_epi8((char)g->a_flip), zero = _mm256_setzero_si256();
	__m256i sums = zero;
	uint64_t parts[WIDTH / sizeof(uint64_t)], sum = 0;
	size_t k = 0;

	for (; k + WIDTH <= g->depth; k += WIDTH) {
		const __m256i x = _mm256_loadu_si256((const __m256i *)(a + k));

		sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_xor_si256(x, flip), zero));
	}
	memcpy(parts, &sums, sizeof(parts));
	UNROLL
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum += parts[i];
	for (; k < g->depth; k++)
		sum += a[k] ^ g->a_flip;
	return (int32_t)sum * -g->b_zero;
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
	const __m256i flip = _mm256_set1_epi8((char)g->a_flip);
	const size_t stride = g->a_stride, depth = g->depth;
	const struct nn_q8_output out = g->out;
	const uint8_t *base[(ROWS + 2) / 3];
	i32x8 acc[ROWS][NN_PANEL_VECTORS];

	UNROLL
	for (int i = 0; i < rows; i += 3)
		base[i / 3] = t->a + (size_t)i * stride;
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < vectors; v++) {
			memcpy(&acc[i][v], scales[v].bias, sizeof(acc[i][v]));
			acc[i][v] += t->corrections[i];
		}
	}
	for (size_t k = 0; k < depth; k += NN_Q8_GROUP, w += vectors * WIDTH) {
		__m256i b[NN_PANEL_VECTORS];

		UNROLL
		for (int v = 0; v < vectors; v++)
			b[v] = _mm256_loadu_si256((const __m256i *)(w + v * WIDTH));
		UNROLL
		for (int i = 0; i < rows; i++) {
			const __m256i x = splat(base[i / 3] + (size_t)(i % 3) * stride + k, flip);

			UNROLL
			for (int v = 0; v < vectors; v++)
				acc[i][v] = (i32x8)DPBUSD((__m256i)acc[i][v], x, b[v]);
		}
	}
	/* All before the first is stored, which may change scales as far as a compiler knows. */
	UNROLL
	for (int v = 0; v < vectors; v++) {
		UNROLL
		for (int i = 0; i < rows; i++)
			acc[i][v] = (i32x8)q8_scaled_avx2((__m256i)acc[i][v], &scales[v], positive);
	}
	UNROLL
	for (int i = 0; i < rows; i++) {
		uint8_t *c = t->c + (size_t)i * g->c_stride;

		if (vectors == 1)
			q8_store_one_avx2(c, (__m256i)acc[i][0], &out, t->columns);
		else
			q8_store_two_avx2(c, (__m256i)acc[i][0], (__m256i)acc[i][1], &out,
					  t->columns);
	}
}

#define TILES(T) T(6, 2) T(3, 2) T(1, 2) T(6, 1) T(3, 1) T(1, 1)

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
	void (*fn[2])(const struct tile *t);	/* by `positive` */
} tiles[] = { TILES(TILE_ENTRY) };

/* `rows` rows from `row` on against one panel, the largest tiles first. */
static void run_panel(const struct nn_gemm_q8 *g, size_t row, size_t rows, size_t column,
		      const void *panel, const int32_t *corrections)
{
	const size_t columns = g->columns - column;
	const uint32_t vectors = columns > LANES ? NN_PANEL_VECTORS : 1;
	const bool positive = g->out.low >= g->out.zero;
	size_t done = 0;

	for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
		if (tiles[i].vectors != vectors)
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

			tiles[i].fn[positive](&t);
		}
	}
}

/* Rows whose corrections are computed at a time. */
#define BLOCK (16 * ROWS)

TARGET void PRODUCT(const struct nn_gemm_q8 *g)
{
	const size_t panel_size = nn_q8_panel_size(LANES, NN_PANEL_VECTORS, g->depth);
	int32_t corrections[BLOCK] = { 0 };

	for (size_t row = 0; row < g->rows; row += BLOCK) {
		const size_t rows = g->rows - row < BLOCK ? g->rows - row : BLOCK;
		const char *panel = g->panels;

		for (size_t i = 0; g->b_zero && i < rows; i++)
			corrections[i] = correct_row(g, g->a + (row + i) * g->a_stride);
		for (size_t at = 0; at < g->columns; at += NN_PANEL_VECTORS * LANES) {
			run_panel(g, row, rows, at, panel, corrections);
			panel += panel_size;
		}
	}
}
