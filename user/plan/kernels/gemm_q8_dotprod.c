/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with DotProd, whose instruction multiplies four elements of one row by four
 * elements of each of four columns.
 */
#if defined(__aarch64__)

/*
 * Prevents gcc from scheduling loads early: the CPU has too few registers for all loaded weights,
 * 24 sums and six rows.
 */
#ifndef __clang__
#pragma GCC optimize("no-schedule-insns")
#endif

#include "plan/kernels/q8_neon.h"

#define ROWS 7			/* number of rows of a tile that is one panel wide */
#define ROWS_TWO 6
#define GROUP 4

/*
 * Multiplies four bytes of each of `rows` rows by the columns of a panel. The vector x[i] has four
 * groups of four bytes of row i; `lane` is the index of the group.
 */
#define ADD_EIGHT(eight, lane)							\
	do {									\
		const uint8_t *at = w[eight] + (lane) * 8 * GROUP;		\
		const uint8x16_t b0 = vld1q_u8(at), b1 = vld1q_u8(at + 16);	\
										\
		UNROLL								\
		for (int i = 0; i < rows; i++) {				\
			acc[i][2 * (eight)] = DOT(acc[i][2 * (eight)], b0, x[i], lane); \
			acc[i][2 * (eight) + 1] = DOT(acc[i][2 * (eight) + 1], b1, x[i], lane); \
		}								\
	} while (0)

#define ADD_GROUP(lane)								\
	do {									\
		ADD_EIGHT(0, lane);						\
		if (eights > 1)							\
			ADD_EIGHT(1, lane);					\
	} while (0)

#define DOT(sum, b, a, lane) (is_signed ? DOT_SIGNED(sum, b, a, lane) : \
					  DOT_UNSIGNED(sum, b, a, lane))
#ifdef __clang__
#define DOT_SIGNED(sum, b, a, lane)						\
	vdotq_laneq_s32(sum, vreinterpretq_s8_u8(b), vreinterpretq_s8_u8(a), lane)
#define DOT_UNSIGNED(sum, b, a, lane)						\
	vreinterpretq_s32_u32(vdotq_laneq_u32(vreinterpretq_u32_s32(sum), b, a, lane))
#else
/*
 * With intrinsics instead of assembly, gcc 12 copies sums between registers if there are 24 sums.
 */
#define DOT_SIGNED(sum, b, a, lane) DOT_BY("sdot", sum, b, a, lane)
#define DOT_UNSIGNED(sum, b, a, lane) DOT_BY("udot", sum, b, a, lane)
#define DOT_BY(name, sum, b, a, lane) ({					\
	int32x4_t sum_ = sum;							\
	__asm__(name " %0.4s, %1.16b, %2.4b[" #lane "]" : "+w"(sum_) : "w"(b), "w"(a)); \
	sum_;									\
})
#endif

static inline ALWAYS_INLINE void run_tile(int rows, int eights, bool is_signed,
					  bool positive, const struct q8_panel *p)
{
	const uint8_t *w[Q8_EIGHTS] = { p->w, p->w + p->next }, *row[ROWS];
	int32x4_t acc[ROWS][2 * Q8_EIGHTS];
	uint8x16_t x[ROWS];

	UNROLL
	for (int i = 0; i < rows; i++) {
		const int32x4_t correction = vld1q_dup_s32(p->corrections + i);

		row[i] = p->a + (size_t)i * p->a_stride;
		UNROLL
		for (int v = 0; v < 2 * eights; v++)
			acc[i][v] = vaddq_s32(p->bias[v], correction);
	}
	for (size_t k = 0; k < p->depth; k += 4 * GROUP) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = vld1q_u8(row[i] + k);
		ADD_GROUP(0);
		ADD_GROUP(1);
		ADD_GROUP(2);
		ADD_GROUP(3);
		/*
		 * The pointers advance after the loads, because the compiler otherwise does not use
		 * paired loads.
		 */
		UNROLL
		for (int e = 0; e < eights; e++) {
			__asm__("" : "+r"(w[e]));
			w[e] += 4 * 8 * GROUP;
		}
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
	q8_panel_store(p, rows, eights, positive, acc);
}

/* Multiplies all rows by a panel, first with the largest tiles. */
static inline ALWAYS_INLINE void run_panel(bool is_signed, bool positive, struct q8_panel p,
					   size_t rows)
{
	if (p.columns > 8) {
		for (; rows >= ROWS_TWO; rows -= ROWS_TWO, q8_panel_advance(&p, ROWS_TWO))
			run_tile(ROWS_TWO, 2, is_signed, positive, &p);
		for (; rows >= 4; rows -= 4, q8_panel_advance(&p, 4))
			run_tile(4, 2, is_signed, positive, &p);
		for (; rows; rows--, q8_panel_advance(&p, 1))
			run_tile(1, 2, is_signed, positive, &p);
		return;
	}
	for (; rows >= ROWS; rows -= ROWS, q8_panel_advance(&p, ROWS))
		run_tile(ROWS, 1, is_signed, positive, &p);
	for (; rows >= 3; rows -= 3, q8_panel_advance(&p, 3))
		run_tile(3, 1, is_signed, positive, &p);
	for (; rows; rows--, q8_panel_advance(&p, 1))
		run_tile(1, 1, is_signed, positive, &p);
}

Q8_PRODUCT(nn_gemm_q8_dotprod, GROUP)

#endif
