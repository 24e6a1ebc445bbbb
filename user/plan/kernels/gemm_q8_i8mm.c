/* SPDX-License-Identifier: MIT */
/*
 * Matrix product of bytes with the instructions of I8MM: eight elements of depth of two
 * rows and of two columns at a time.
 */
#if defined(__aarch64__)

#include "plan/kernels/q8_neon.h"

#define ROWS 8
#define PAIRS (ROWS / 2)	/* of rows; in a vector is the one's group, then the other's */
#define GROUP 8

/* Group `half` of two of `pairs` pairs of rows times one of eight columns. */
#define ADD_GROUP(half)								\
	do {									\
		uint8x16_t b[4];						\
										\
		UNROLL								\
		for (int j = 0; j < 4; j++)					\
			b[j] = vld1q_u8(w + (half) * 8 * GROUP + j * 16);	\
		UNROLL								\
		for (int i = 0; i < pairs; i++) {				\
			const uint8x16_t a = pair_##half(x[i], y[i]);		\
										\
			UNROLL							\
			for (int j = 0; j < 4; j++)				\
				acc[i][j] = multiply(is_signed, acc[i][j], a, b[j]); \
		}								\
	} while (0)

static inline ALWAYS_INLINE uint8x16_t pair_0(uint8x16_t x, uint8x16_t y)
{
	return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y)));
}

static inline ALWAYS_INLINE uint8x16_t pair_1(uint8x16_t x, uint8x16_t y)
{
	return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y)));
}

static inline ALWAYS_INLINE int32x4_t multiply(bool is_signed, int32x4_t sum, uint8x16_t a,
					       uint8x16_t b)
{
	if (is_signed)
		return vmmlaq_s32(sum, vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));
	return vreinterpretq_s32_u32(vmmlaq_u32(vreinterpretq_u32_s32(sum), a, b));
}

/* Lanes 0 and 1 of both, or 2 and 3. */
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

/* `rows` is even, or 1: then the other row of the pair is the same, and its sums are dropped. */
static inline ALWAYS_INLINE void run_tile(int rows, bool is_signed, bool positive,
					  const struct q8_panel *p)
{
	const int pairs = (rows + 1) / 2;
	const size_t next = rows > 1 ? p->a_stride : 0;
	const uint8_t *w = p->w;
	int32x4_t acc[PAIRS][4], sums[ROWS][2];
	uint8x16_t x[PAIRS], y[PAIRS];

	UNROLL
	for (int i = 0; i < pairs; i++) {
		const int32x4_t correction = vcombine_s32(
			vld1_dup_s32(p->corrections + 2 * i),
			vld1_dup_s32(p->corrections + (rows > 1 ? 2 * i + 1 : 0)));

		UNROLL
		for (int v = 0; v < 2; v++) {
			acc[i][2 * v] = vaddq_s32(low_lanes(p->bias[v], p->bias[v]), correction);
			acc[i][2 * v + 1] = vaddq_s32(high_lanes(p->bias[v], p->bias[v]),
						      correction);
		}
	}
	for (size_t k = 0; k < p->depth; k += 2 * GROUP, w += 2 * 8 * GROUP) {
		UNROLL
		for (int i = 0; i < pairs; i++) {
			x[i] = vld1q_u8(p->a + (size_t)(2 * i) * p->a_stride + k);
			y[i] = vld1q_u8(p->a + (size_t)(2 * i) * p->a_stride + next + k);
		}
		ADD_GROUP(0);
		ADD_GROUP(1);
	}
	if (p->tail.count) {
		UNROLL
		for (int i = 0; i < pairs; i++) {
			x[i] = q8_load_tail(p->a + (size_t)(2 * i) * p->a_stride, &p->tail);
			y[i] = q8_load_tail(p->a + (size_t)(2 * i) * p->a_stride + next, &p->tail);
		}
		ADD_GROUP(0);
		if (p->tail.count > GROUP)
			ADD_GROUP(1);
	}
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < 2; v++)
			sums[i][v] = i % 2 ? high_lanes(acc[i / 2][2 * v], acc[i / 2][2 * v + 1]) :
					     low_lanes(acc[i / 2][2 * v], acc[i / 2][2 * v + 1]);
	}
	q8_panel_store(p, rows, positive, sums);
}

/* All rows, the largest tiles first. */
static inline ALWAYS_INLINE void run_panel(bool is_signed, bool positive, struct q8_panel p,
					   size_t rows)
{
	for (; rows >= ROWS; rows -= ROWS, q8_panel_advance(&p, ROWS))
		run_tile(ROWS, is_signed, positive, &p);
	for (; rows >= 2; rows -= 2, q8_panel_advance(&p, 2))
		run_tile(2, is_signed, positive, &p);
	if (rows)
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

void nn_gemm_q8_i8mm(const struct nn_gemm_q8 *g)
{
	static q8_panel_fn *const run[2][2] = {
		{ run_unsigned, run_unsigned_positive }, { run_signed, run_signed_positive },
	};

	q8_run_panels(g, GROUP, run[!!g->a_flip]);
}

#endif
