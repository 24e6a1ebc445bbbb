/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with NEON without extensions. Each step multiplies sixteen elements of one
 * row by sixteen elements of one column, and sums pairs of products.
 */
#if defined(__aarch64__)

/*
 * Prevents gcc from scheduling loads early: the CPU has too few registers for all loaded vectors
 * and 24 sums.
 */
#ifndef __clang__
#pragma GCC optimize("no-schedule-insns")
#endif

#include "plan/kernels/q8_neon.h"

#define ROWS 3
#define GROUP NN_Q8_SIGNED_GROUP

/*
 * Products of the kinds *_TWICE are summed in pairs in 16 bits; the sum of a pair overflows only if
 * all four factors are -128. The kinds FLIPPED* convert unsigned bytes of the rows to signed bytes.
 */
enum kind { SIGNED, SIGNED_TWICE, FLIPPED, FLIPPED_TWICE };

static inline ALWAYS_INLINE bool is_twice(enum kind kind)
{
	return kind == SIGNED_TWICE || kind == FLIPPED_TWICE;
}

static inline ALWAYS_INLINE int8x16_t as_signed(enum kind kind, uint8x16_t x)
{
	if (kind == FLIPPED || kind == FLIPPED_TWICE)
		x = veorq_u8(x, vdupq_n_u8(0x80));
	return vreinterpretq_s8_u8(x);
}

/*
 * Sums the lanes of each of four vectors. Lane i of the result is the sum of all lanes of vector i.
 */
static inline ALWAYS_INLINE int32x4_t sum_lanes(const int32x4_t x[4])
{
	return vpaddq_s32(vpaddq_s32(x[0], x[1]), vpaddq_s32(x[2], x[3]));
}

/*
 * Multiplies a group of elements of each of `rows` rows by the same group of each of eight columns.
 */
static inline ALWAYS_INLINE void add_group(int rows, enum kind kind, const int8x16_t x[ROWS],
					   const uint8_t *w, int32x4_t acc[ROWS][8])
{
	int8x16_t two[2];

	UNROLL
	for (int j = 0; j < 8; j++) {
		int16x8_t products[ROWS];
		int8x16_t b;

		if (!(j % 2)) {
			two[0] = vreinterpretq_s8_u8(vld1q_u8(w + j * GROUP));
			two[1] = vreinterpretq_s8_u8(vld1q_u8(w + (j + 1) * GROUP));
		}
		b = two[j % 2];

		/*
		 * The instructions of all rows are interleaved, because an in-order CPU would wait
		 * for each result.
		 */
		UNROLL
		for (int i = 0; i < rows; i++)
			products[i] = vmull_s8(vget_low_s8(x[i]), vget_low_s8(b));
		if (!is_twice(kind)) {
			UNROLL
			for (int i = 0; i < rows; i++)
				acc[i][j] = vpadalq_s16(acc[i][j], products[i]);
		}
		UNROLL
		for (int i = 0; i < rows; i++)
			products[i] = is_twice(kind) ? vmlal_high_s8(products[i], x[i], b) :
						       vmull_high_s8(x[i], b);
		UNROLL
		for (int i = 0; i < rows; i++)
			acc[i][j] = vpadalq_s16(acc[i][j], products[i]);
	}
}

static inline ALWAYS_INLINE void run_tile(int rows, enum kind kind, bool positive,
					  const struct q8_panel *p)
{
	const uint8_t *w = p->w;
	int32x4_t acc[ROWS][8], sums[ROWS][2 * Q8_EIGHTS];
	int8x16_t x[ROWS];

	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int j = 0; j < 8; j++)
			acc[i][j] = vdupq_n_s32(0);
	}
	for (size_t k = 0; k < p->depth; k += GROUP) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = as_signed(kind, vld1q_u8(p->a + (size_t)i * p->a_stride + k));
		add_group(rows, kind, x, w + k * 8, acc);
	}
	w += p->depth * 8;
	if (p->tail.count) {
		UNROLL
		for (int i = 0; i < rows; i++)
			x[i] = as_signed(kind, q8_load_tail(p->a + (size_t)i * p->a_stride,
							    &p->tail));
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
	q8_panel_store(p, rows, 1, positive, sums);
}

/* Multiplies all rows by a panel, first with the largest tiles. */
static inline ALWAYS_INLINE void run_panel(enum kind kind, bool positive, struct q8_panel p,
					   size_t rows)
{
	for (; rows >= ROWS; rows -= ROWS, q8_panel_advance(&p, ROWS))
		run_tile(ROWS, kind, positive, &p);
	for (; rows; rows--, q8_panel_advance(&p, 1))
		run_tile(1, kind, positive, &p);
}

Q8_PANEL(run_signed, SIGNED, false)
Q8_PANEL(run_signed_positive, SIGNED, true)
Q8_PANEL(run_twice, SIGNED_TWICE, false)
Q8_PANEL(run_twice_positive, SIGNED_TWICE, true)
Q8_PANEL(run_flipped, FLIPPED, false)
Q8_PANEL(run_flipped_positive, FLIPPED, true)
Q8_PANEL(run_flipped_twice, FLIPPED_TWICE, false)
Q8_PANEL(run_flipped_twice_positive, FLIPPED_TWICE, true)

static q8_panel_fn *choose_kind(const struct nn_gemm_q8 *g, const struct nn_q8_eight *eight,
				bool positive)
{
	static q8_panel_fn *const run[4][2] = {
		[SIGNED] = { run_signed, run_signed_positive },
		[SIGNED_TWICE] = { run_twice, run_twice_positive },
		[FLIPPED] = { run_flipped, run_flipped_positive },
		[FLIPPED_TWICE] = { run_flipped_twice, run_flipped_twice_positive },
	};

	if (g->a_flip)
		return run[eight->has_least ? SIGNED : SIGNED_TWICE][positive];
	return run[eight->has_least ? FLIPPED : FLIPPED_TWICE][positive];
}

void nn_gemm_q8_neon(const struct nn_gemm_q8 *g)
{
	q8_run_panels(g, GROUP, 1, !g->a_flip, choose_kind);
}

#endif
