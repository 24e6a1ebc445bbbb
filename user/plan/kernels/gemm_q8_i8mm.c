/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with I8MM, whose instruction multiplies eight elements of each of two rows by
 * eight elements of each of two columns.
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

#define ROWS 8			/* number of rows of a tile that is one panel wide */
#define ROWS_TWO 6
/* number of pairs of rows; a vector has a group of bytes from each of the two rows of a pair */
#define PAIRS (ROWS / 2)
#define GROUP 8

/*
 * Combines the groups of bytes of a pair of rows: *first receives the first groups of both rows,
 * and *second receives the second groups.
 */
static inline ALWAYS_INLINE void pair_groups(uint8x16_t x, uint8x16_t y, uint8x16_t *first,
					     uint8x16_t *second)
{
	const uint64x2_t a = vreinterpretq_u64_u8(x), b = vreinterpretq_u64_u8(y);

	*first = vreinterpretq_u8_u64(vzip1q_u64(a, b));
	*second = vreinterpretq_u8_u64(vzip2q_u64(a, b));
}

static inline ALWAYS_INLINE int32x4_t multiply(bool is_signed, int32x4_t sum, uint8x16_t a,
					       uint8x16_t b)
{
#ifdef __clang__
	if (is_signed)
		return vmmlaq_s32(sum, vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));
	return vreinterpretq_s32_u32(vmmlaq_u32(vreinterpretq_u32_s32(sum), a, b));
#else
	/*
	 * With intrinsics instead of assembly, gcc 12 copies sums between registers if there are 24
	 * sums.
	 */
	if (is_signed)
		__asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
	else
		__asm__("ummla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
	return sum;
#endif
}

/* low_lanes() returns lanes 0 and 1 of a and b; high_lanes() returns lanes 2 and 3 of a and b. */
static inline ALWAYS_INLINE int32x4_t low_lanes(int32x4_t a, int32x4_t b)
{
	return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a),
						vreinterpretq_s64_s32(b)));
}

static inline ALWAYS_INLINE int32x4_t high_lanes(int32x4_t a, int32x4_t b)
{
	return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a),
						vreinterpretq_s64_s32(b)));
}

/*
 * Multiplies a group of bytes of each row, in `pairs` pairs of rows, by the columns of all panels.
 * `half` is 0 for the first group of a row, and 1 for the second group.
 */
static inline ALWAYS_INLINE void add_group(int pairs, int eights, bool is_signed, int half,
					   const uint8x16_t a[2][PAIRS],
					   const uint8_t *const w[Q8_EIGHTS],
					   int32x4_t acc[PAIRS][4 * Q8_EIGHTS])
{
	UNROLL
	for (int j = 0; j < 4 * eights; j += 2) {
		const uint8_t *at = w[j / 4] + half * 8 * GROUP + j % 4 * 16;
		const uint8x16_t b0 = vld1q_u8(at), b1 = vld1q_u8(at + 16);

		UNROLL
		for (int i = 0; i < pairs; i++) {
			acc[i][j] = multiply(is_signed, acc[i][j], a[half][i], b0);
			acc[i][j + 1] = multiply(is_signed, acc[i][j + 1], a[half][i], b1);
		}
	}
}

/*
 * Multiplies `rows` rows, which must be an even number or 1. A single row is paired with itself,
 * and the second sums of the pair are ignored.
 */
static inline ALWAYS_INLINE void run_tile(int rows, int eights, bool is_signed, bool positive,
					  const struct q8_panel *p)
{
	const int pairs = (rows + 1) / 2;
	const size_t next = rows > 1 ? p->a_stride : 0;
	const uint8_t *w[Q8_EIGHTS] = { p->w, p->w + p->next }, *row[ROWS];
	int32x4_t acc[PAIRS][4 * Q8_EIGHTS], sums[ROWS][2 * Q8_EIGHTS];
	uint8x16_t a[2][PAIRS];

	UNROLL
	for (int i = 0; i < pairs; i++) {
		const int32x4_t correction = vcombine_s32(
			vld1_dup_s32(p->corrections + 2 * i),
			vld1_dup_s32(p->corrections + (rows > 1 ? 2 * i + 1 : 0)));

		row[2 * i] = p->a + (size_t)(2 * i) * p->a_stride;
		row[2 * i + 1] = row[2 * i] + next;
		UNROLL
		for (int v = 0; v < 2 * eights; v++) {
			acc[i][2 * v] = vaddq_s32(low_lanes(p->bias[v], p->bias[v]), correction);
			acc[i][2 * v + 1] = vaddq_s32(high_lanes(p->bias[v], p->bias[v]),
						      correction);
		}
	}
	for (size_t k = 0; k < p->depth; k += 2 * GROUP) {
		UNROLL
		for (int i = 0; i < pairs; i++)
			pair_groups(vld1q_u8(row[2 * i] + k), vld1q_u8(row[2 * i + 1] + k),
				    &a[0][i], &a[1][i]);
		add_group(pairs, eights, is_signed, 0, a, w, acc);
		add_group(pairs, eights, is_signed, 1, a, w, acc);
		/*
		 * The pointers advance after the loads, because the compiler otherwise does not use
		 * paired loads.
		 */
		UNROLL
		for (int e = 0; e < eights; e++) {
			__asm__("" : "+r"(w[e]));
			w[e] += 2 * 8 * GROUP;
		}
	}
	if (p->tail.count) {
		UNROLL
		for (int i = 0; i < pairs; i++)
			pair_groups(q8_load_tail(row[2 * i], &p->tail),
				    q8_load_tail(row[2 * i + 1], &p->tail), &a[0][i], &a[1][i]);
		add_group(pairs, eights, is_signed, 0, a, w, acc);
		if (p->tail.count > GROUP)
			add_group(pairs, eights, is_signed, 1, a, w, acc);
	}
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < 2 * eights; v++)
			sums[i][v] = i % 2 ? high_lanes(acc[i / 2][2 * v], acc[i / 2][2 * v + 1]) :
					     low_lanes(acc[i / 2][2 * v], acc[i / 2][2 * v + 1]);
	}
	q8_panel_store(p, rows, eights, positive, sums);
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
		for (; rows >= 2; rows -= 2, q8_panel_advance(&p, 2))
			run_tile(2, 2, is_signed, positive, &p);
		if (rows)
			run_tile(1, 2, is_signed, positive, &p);
		return;
	}
	for (; rows >= ROWS; rows -= ROWS, q8_panel_advance(&p, ROWS))
		run_tile(ROWS, 1, is_signed, positive, &p);
	for (; rows >= 2; rows -= 2, q8_panel_advance(&p, 2))
		run_tile(2, 1, is_signed, positive, &p);
	if (rows)
		run_tile(1, 1, is_signed, positive, &p);
}

Q8_PRODUCT(nn_gemm_q8_i8mm, GROUP)

#endif
