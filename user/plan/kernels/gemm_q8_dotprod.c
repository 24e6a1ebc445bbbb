/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of bytes with the instructions of DotProd: four elements of depth of a
 * row and of four columns at a time.
 */
#if defined(__aarch64__)

#include "plan/kernels/q8_neon.h"

#define ROWS 7
#define GROUP 4

struct tile {
	const struct nn_gemm_q8 *g;
	const struct q8_tail *tail;
	const uint8_t *a;
	const int32_t *corrections;
	const struct nn_q8_eight *panel;
	uint8_t *c;
	size_t columns;
};

/* Group `lane` of four of `rows` rows times one of eight columns. */
#define ADD_GROUP(lane)								\
	do {									\
		const uint8x16_t b0 = vld1q_u8(w + (lane) * 8 * GROUP);		\
		const uint8x16_t b1 = vld1q_u8(w + (lane) * 8 * GROUP + 16);	\
										\
		UNROLL								\
		for (int i = 0; i < rows; i++) {				\
			acc[i][0] = DOT(acc[i][0], b0, x[i], lane);		\
			acc[i][1] = DOT(acc[i][1], b1, x[i], lane);		\
		}								\
	} while (0)

#define DOT(sum, b, a, lane) (is_signed ? DOT_SIGNED(sum, b, a, lane) : \
					  DOT_UNSIGNED(sum, b, a, lane))
#define DOT_SIGNED(sum, b, a, lane)						\
	vdotq_laneq_s32(sum, vreinterpretq_s8_u8(b), vreinterpretq_s8_u8(a), lane)
#define DOT_UNSIGNED(sum, b, a, lane)						\
	vreinterpretq_s32_u32(vdotq_laneq_u32(vreinterpretq_u32_s32(sum), b, a, lane))

static inline ALWAYS_INLINE void run_tile(int rows, bool is_signed, bool positive,
					  const struct tile *t, size_t row)
{
	const struct nn_gemm_q8 *g = t->g;
	const uint8_t *a = t->a + row * g->a_stride, *w = (const uint8_t *)(t->panel + 1);
	const size_t depth = t->tail->depth, c_stride = g->c_stride;
	const struct q8_bounds bounds = q8_bounds_of(&g->out);
	const int32x4_t bias0 = vld1q_s32(t->panel->bias), bias1 = vld1q_s32(t->panel->bias + 4);
	uint8_t *c = t->c + row * c_stride;
	int32x4_t acc[ROWS][2];
	uint8x16_t x[ROWS];

	UNROLL
	for (int i = 0; i < rows; i++) {
		const int32x4_t correction = vdupq_n_s32(t->corrections[row + (size_t)i]);

		acc[i][0] = vaddq_s32(bias0, correction);
		acc[i][1] = vaddq_s32(bias1, correction);
	}
	for (size_t k = 0; k < depth; k += 4 * GROUP, w += 4 * 8 * GROUP) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = vld1q_u8(a + (size_t)i * g->a_stride + k);
		ADD_GROUP(0);
		ADD_GROUP(1);
		ADD_GROUP(2);
		ADD_GROUP(3);
	}
	if (t->tail->count) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = q8_load_tail(a + (size_t)i * g->a_stride, t->tail);
		ADD_GROUP(0);
		if (t->tail->count > GROUP)
			ADD_GROUP(1);
		if (t->tail->count > 2 * GROUP)
			ADD_GROUP(2);
		if (t->tail->count > 3 * GROUP)
			ADD_GROUP(3);
	}
	UNROLL
	for (int i = 0; i < rows; i++)
		q8_store_sums(c + (size_t)i * c_stride, acc[i][0], acc[i][1], t->panel, positive,
			      &bounds, t->columns);
}

/* All rows, the largest tiles first. */
static inline ALWAYS_INLINE void run_panel(bool is_signed, bool positive, const struct tile *t,
					   size_t rows)
{
	size_t row = 0;

	for (; rows - row >= ROWS; row += ROWS)
		run_tile(ROWS, is_signed, positive, t, row);
	for (; rows - row >= 3; row += 3)
		run_tile(3, is_signed, positive, t, row);
	for (; row < rows; row++)
		run_tile(1, is_signed, positive, t, row);
}

#define PANEL(name, is_signed, positive)					\
static void name(const struct tile *t, size_t rows)				\
{										\
	run_panel(is_signed, positive, t, rows);				\
}
PANEL(run_unsigned, false, false)
PANEL(run_unsigned_positive, false, true)
PANEL(run_signed, true, false)
PANEL(run_signed_positive, true, true)

void nn_gemm_q8_dotprod(const struct nn_gemm_q8 *g)
{
	static void (*const run[2][2])(const struct tile *t, size_t rows) = {
		{ run_unsigned, run_unsigned_positive }, { run_signed, run_signed_positive },
	};
	const size_t panel_size = nn_q8_eight_size(GROUP, g->depth);
	const bool positive = q8_is_positive(&g->out);
	const struct q8_tail tail = q8_tail_of(g->depth);
	int32_t corrections[Q8_BLOCK];

	for (size_t row = 0; row < g->rows; row += Q8_BLOCK) {
		size_t rows = g->rows - row < Q8_BLOCK ? g->rows - row : Q8_BLOCK;
		const uint8_t *a = g->a + row * g->a_stride;
		const char *panel = g->panels;

		q8_correct_rows(g, a, rows, &tail, corrections);
		for (size_t at = 0; at < g->columns; at += 8, panel += panel_size) {
			const struct tile t = {
				.g = g,
				.tail = &tail,
				.a = a,
				.corrections = corrections,
				.panel = (const void *)panel,
				.c = g->c + row * g->c_stride + at,
				.columns = g->columns - at,
			};

			run[!!g->a_flip][positive](&t, rows);
		}
	}
}

#endif
