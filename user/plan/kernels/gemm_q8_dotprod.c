/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of bytes with the instructions of DotProd: four elements of depth of a
 * row and of four columns at a time.
 */
#if defined(__aarch64__)

#include "plan/kernels/q8_neon.h"

#define ROWS 7
#define GROUP 4

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
					  const struct q8_panel *p)
{
	const uint8_t *w = p->w, *row[ROWS];
	int32x4_t acc[ROWS][2];
	uint8x16_t x[ROWS];

	UNROLL
	for (int i = 0; i < rows; i++) {
		const int32x4_t correction = vld1q_dup_s32(p->corrections + i);

		row[i] = p->a + (size_t)i * p->a_stride;
		acc[i][0] = vaddq_s32(p->bias[0], correction);
		acc[i][1] = vaddq_s32(p->bias[1], correction);
	}
	for (size_t k = 0; k < p->depth; k += 4 * GROUP, w += 4 * 8 * GROUP) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = vld1q_u8(row[i] + k);
		ADD_GROUP(0);
		ADD_GROUP(1);
		ADD_GROUP(2);
		ADD_GROUP(3);
	}
	if (p->tail.count) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = q8_load_tail(row[i], &p->tail);
		ADD_GROUP(0);
		if (p->tail.count > GROUP)
			ADD_GROUP(1);
		if (p->tail.count > 2 * GROUP)
			ADD_GROUP(2);
		if (p->tail.count > 3 * GROUP)
			ADD_GROUP(3);
	}
	q8_panel_store(p, rows, positive, acc);
}

/* All rows, the largest tiles first. */
static inline ALWAYS_INLINE void run_panel(bool is_signed, bool positive, struct q8_panel p,
					   size_t rows)
{
	for (; rows >= ROWS; rows -= ROWS, q8_panel_advance(&p, ROWS))
		run_tile(ROWS, is_signed, positive, &p);
	for (; rows >= 3; rows -= 3, q8_panel_advance(&p, 3))
		run_tile(3, is_signed, positive, &p);
	for (; rows; rows--, q8_panel_advance(&p, 1))
		run_tile(1, is_signed, positive, &p);
}

#define PANEL(name, is_signed, positive)					\
static void name(const struct q8_panel *p, size_t rows)				\
{										\
	run_panel(is_signed, positive, *p, rows);				\
}
PANEL(run_unsigned, false, false)
PANEL(run_unsigned_positive, false, true)
PANEL(run_signed, true, false)
PANEL(run_signed_positive, true, true)

void nn_gemm_q8_dotprod(const struct nn_gemm_q8 *g)
{
	static q8_panel_fn *const run[2][2] = {
		{ run_unsigned, run_unsigned_positive }, { run_signed, run_signed_positive },
	};

	q8_run_panels(g, GROUP, run[!!g->a_flip]);
}

#endif
