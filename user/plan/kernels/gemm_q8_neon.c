/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of bytes with NEON alone: sixteen elements of depth of a row and a
 * column at a time, whose products are summed in pairs.
 */
#if defined(__aarch64__)

/* Of loads that gcc moves to the front 24 sums leave no room. */
#ifndef __clang__
#pragma GCC optimize("no-schedule-insns")
#endif

#include "plan/kernels/q8_neon.h"

#define ROWS 3
#define GROUP 16

/* How products are summed: two fit 16 bits unless both factors are -128 twice. */
enum kind { UNSIGNED, SIGNED, SIGNED_TWICE };

/* The products of the lower eight, then those of the upper eight, which are added where they fit. */
static inline ALWAYS_INLINE uint16x8_t low_products(enum kind kind, uint8x16_t x, uint8x16_t y)
{
	const uint8x8_t a = vget_low_u8(x), b = vget_low_u8(y);

	if (kind == UNSIGNED)
		return vmull_u8(a, b);
	return vreinterpretq_u16_s16(vmull_s8(vreinterpret_s8_u8(a), vreinterpret_s8_u8(b)));
}

static inline ALWAYS_INLINE uint16x8_t high_products(enum kind kind, uint16x8_t low, uint8x16_t x,
						     uint8x16_t y)
{
	const int8x16_t a = vreinterpretq_s8_u8(x), b = vreinterpretq_s8_u8(y);

	if (kind == UNSIGNED)
		return vmull_high_u8(x, y);
	return vreinterpretq_u16_s16(kind == SIGNED ? vmull_high_s8(a, b) :
				     vmlal_high_s8(vreinterpretq_s16_u16(low), a, b));
}

static inline ALWAYS_INLINE int32x4_t add_pairs(enum kind kind, int32x4_t sum, uint16x8_t products)
{
	if (kind == UNSIGNED)
		return vreinterpretq_s32_u32(vpadalq_u16(vreinterpretq_u32_s32(sum), products));
	return vpadalq_s16(sum, vreinterpretq_s16_u16(products));
}

/* The sums of four vectors, each in the lane of its number. */
static inline ALWAYS_INLINE int32x4_t sum_lanes(const int32x4_t x[4])
{
	return vpaddq_s32(vpaddq_s32(x[0], x[1]), vpaddq_s32(x[2], x[3]));
}

/* One group of `rows` rows times one of eight columns. */
static inline ALWAYS_INLINE void add_group(int rows, enum kind kind, const uint8x16_t x[ROWS],
					   const uint8_t *w, int32x4_t acc[ROWS][8])
{
	UNROLL
	for (int j = 0; j < 8; j++) {
		const uint8x16_t b = vld1q_u8(w + j * GROUP);

		uint16x8_t products[ROWS];

		/* Step by step for all rows: a CPU that runs them in order would wait for each. */
		UNROLL
		for (int i = 0; i < rows; i++)
			products[i] = low_products(kind, x[i], b);
		UNROLL
		for (int i = 0; kind != SIGNED_TWICE && i < rows; i++)
			acc[i][j] = add_pairs(kind, acc[i][j], products[i]);
		UNROLL
		for (int i = 0; i < rows; i++)
			products[i] = high_products(kind, products[i], x[i], b);
		UNROLL
		for (int i = 0; i < rows; i++)
			acc[i][j] = add_pairs(kind, acc[i][j], products[i]);
	}
}

static inline ALWAYS_INLINE void run_tile(int rows, enum kind kind, bool positive,
					  const struct q8_panel *p)
{
	const uint8_t *w = p->w;
	int32x4_t acc[ROWS][8], sums[ROWS][2];
	uint8x16_t x[ROWS];

	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int j = 0; j < 8; j++)
			acc[i][j] = vdupq_n_s32(0);
	}
	for (size_t k = 0; k < p->depth; k += GROUP) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = vld1q_u8(p->a + (size_t)i * p->a_stride + k);
		add_group(rows, kind, x, w + k * 8, acc);
	}
	w += p->depth * 8;
	if (p->tail.count) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = q8_load_tail(p->a + (size_t)i * p->a_stride, &p->tail);
		add_group(rows, kind, x, w, acc);
	}
	UNROLL
	for (int i = 0; i < rows; i++) {
		const int32x4_t correction = vld1q_dup_s32(p->corrections + i);

		UNROLL
		for (int v = 0; v < 2; v++)
			sums[i][v] = vaddq_s32(sum_lanes(acc[i] + 4 * v),
					       vaddq_s32(p->bias[v], correction));
	}
	q8_panel_store(p, rows, positive, sums);
}

/* All rows, the largest tiles first. */
static inline ALWAYS_INLINE void run_panel(enum kind kind, bool positive, struct q8_panel p,
					   size_t rows)
{
	for (; rows >= ROWS; rows -= ROWS, q8_panel_advance(&p, ROWS))
		run_tile(ROWS, kind, positive, &p);
	for (; rows; rows--, q8_panel_advance(&p, 1))
		run_tile(1, kind, positive, &p);
}

#define PANEL(name, kind, positive)						\
static void name(const struct q8_panel *p, size_t rows)				\
{										\
	run_panel(kind, positive, *p, rows);					\
}
PANEL(run_unsigned, UNSIGNED, false)
PANEL(run_unsigned_positive, UNSIGNED, true)
PANEL(run_signed, SIGNED, false)
PANEL(run_signed_positive, SIGNED, true)
PANEL(run_twice, SIGNED_TWICE, false)
PANEL(run_twice_positive, SIGNED_TWICE, true)

void nn_gemm_q8_neon(const struct nn_gemm_q8 *g)
{
	static void (*const run[3][2])(const struct q8_panel *p, size_t rows) = {
		[UNSIGNED] = { run_unsigned, run_unsigned_positive },
		[SIGNED] = { run_signed, run_signed_positive },
		[SIGNED_TWICE] = { run_twice, run_twice_positive },
	};
	const size_t panel_size = nn_q8_eight_size(GROUP, g->depth);
	const bool positive = q8_is_positive(&g->out);
	const struct q8_tail tail = q8_tail_of(g->depth);
	int32_t corrections[Q8_BLOCK];

	for (size_t row = 0; row < g->rows; row += Q8_BLOCK) {
		size_t rows = g->rows - row < Q8_BLOCK ? g->rows - row : Q8_BLOCK;
		const char *panel = g->panels;

		q8_correct_rows(g, g->a + row * g->a_stride, rows, &tail, corrections);
		for (size_t at = 0; at < g->columns; at += 8, panel += panel_size) {
			const struct nn_q8_eight *eight = (const void *)panel;
			const struct q8_panel p = q8_panel_of(g, &tail, row, at, corrections,
							      eight);
			enum kind kind = !g->a_flip ? UNSIGNED :
					 eight->has_least ? SIGNED : SIGNED_TWICE;

			run[kind][positive](&p, rows);
		}
	}
}

#endif
