/* SPDX-License-Identifier: MIT */
/*
 * Converts accumulators of eight columns to quantised outputs, for NEON. The results equal NNAPI's
 * fixed-point arithmetic bit for bit, with two to four instructions for four values.
 */
#ifndef NN_PLAN_KERNELS_Q8_NEON_H
#define NN_PLAN_KERNELS_Q8_NEON_H

/*
 * Without the option rename-registers, gcc copies sums between registers in every step of a
 * product.
 */
#ifndef __clang__
#pragma GCC optimize("rename-registers")
#endif

#include <arm_neon.h>
#include <string.h>

#include "plan/kernels/isa_arm64.h"
#include "plan/kernels/unroll.h"

/*
 * Scales accumulators. vqrdmulhq_s32() rounds the upper half of the doubled product, and the shift
 * rounds ties up. Negative ties must be rounded away from zero, so 1 is subtracted from each
 * negative number before the shift. The subtraction of 1 is unnecessary if all negative values
 * become the same byte.
 */
static inline ALWAYS_INLINE int32x4_t q8_scaled(int32x4_t acc, int32x4_t multiplier,
						int32x4_t shift, bool positive)
{
	int32x4_t x = vqrdmulhq_s32(acc, multiplier);

	if (!positive)
		x = vsraq_n_s32(x, vandq_s32(x, shift), 31);
	return vrshlq_s32(x, shift);
}

/*
 * Zero point and bounds of a quantised output, as vectors. Results are computed as differences from
 * the lower bound, so that results below the bound saturate to 0, and signed and unsigned outputs
 * use the same code.
 */
struct q8_bounds {
	int16x8_t zero;		/* zero point - lower bound */
	uint8x16_t high;	/* upper bound - lower bound */
	uint8x16_t low;
};

static inline ALWAYS_INLINE struct q8_bounds q8_bounds_of(const struct nn_q8_output *o)
{
	return (struct q8_bounds){
		vdupq_n_s16((int16_t)(o->zero - o->low)), vdupq_n_u8((uint8_t)(o->high - o->low)),
		vdupq_n_u8((uint8_t)o->low),
	};
}

/* Returns scaled values as 16-bit differences from the lower bound. */
static inline ALWAYS_INLINE int16x8_t q8_from_low(int32x4_t x, int32x4_t y,
						  const struct q8_bounds *b)
{
	return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(x), y), b->zero);
}

/* Stores scaled values as the bytes of up to eight columns. */
static inline ALWAYS_INLINE void q8_store_eight(uint8_t *out, int32x4_t x, int32x4_t y,
						const struct q8_bounds *b, size_t count)
{
	uint8x8_t bytes = vqmovun_s16(q8_from_low(x, y, b));

	bytes = vadd_u8(vmin_u8(bytes, vget_low_u8(b->high)), vget_low_u8(b->low));
	if (count >= 8) {
		vst1_u8(out, bytes);
		return;
	}
	if (count & 4) {
		const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);

		memcpy(out, &four, sizeof(four));
		bytes = vext_u8(bytes, bytes, 4);
		out += 4;
	}
	if (count & 2) {
		const uint16_t two = vget_lane_u16(vreinterpret_u16_u8(bytes), 0);

		memcpy(out, &two, sizeof(two));
		bytes = vext_u8(bytes, bytes, 2);
		out += 2;
	}
	if (count & 1)
		vst1_lane_u8(out, bytes, 0);
}

/*
 * Number of rows whose corrections for the zero point of the weights are computed at a time: a
 * multiple of every tile's number of rows.
 */
#define Q8_BLOCK 168

/* Describes how to read the tail of a row. The tail is the last 0 to 15 elements of the depth. */
struct q8_tail {
	size_t depth;		/* number of elements before the tail */
	size_t count;
	/* true: the load begins before the tail, and `order` moves the tail to the front */
	bool back;
	uint8x16_t order;
};

static inline struct q8_tail q8_tail_of(size_t depth)
{
	struct q8_tail t = { .depth = depth / 16 * 16, .count = depth % 16, .back = depth >= 16 };
	uint8_t order[16];

	for (size_t i = 0; i < 16; i++)
		order[i] = (uint8_t)(i + 16 - t.count);
	t.order = vld1q_u8(order);
	return t;
}

/* Loads fewer than 8 bytes without memcpy(), because a call would save all vector registers. */
static inline ALWAYS_INLINE uint64_t q8_load_few(const uint8_t *p, size_t count)
{
	uint64_t bytes = 0;

	while (count--)
		bytes = bytes << 8 | p[count];
	return bytes;
}

/* Loads the tail of a row, and fills the vector with zeros. */
static inline ALWAYS_INLINE uint8x16_t q8_load_tail(const uint8_t *row, const struct q8_tail *t)
{
	uint64_t few;

	if (t->back)
		return vqtbl1q_u8(vld1q_u8(row + t->depth + t->count - 16), t->order);
	few = q8_load_few(row + (t->count & 8), t->count & 7);
	if (t->count & 8)
		return vcombine_u8(vld1_u8(row), vcreate_u8(few));
	return vcombine_u8(vcreate_u8(few), vcreate_u8(0));
}

/* Sums a row of signed or unsigned bytes. */
static inline int32_t q8_sum_row(const uint8_t *row, const struct q8_tail *t, bool is_signed)
{
	int32x4_t sum = vdupq_n_s32(0);

	for (size_t k = 0; k < t->depth + 16; k += 16) {
		const uint8x16_t x = k < t->depth ? vld1q_u8(row + k) : q8_load_tail(row, t);

		if (is_signed)
			sum = vpadalq_s16(sum, vpaddlq_s8(vreinterpretq_s8_u8(x)));
		else
			sum = vreinterpretq_s32_u32(vpadalq_u16(vreinterpretq_u32_s32(sum),
								vpaddlq_u8(x)));
	}
	return vaddvq_s32(sum);
}

/*
 * Computes, for each row, the correction for the zero point of the weights. If `flips`, the product
 * uses unsigned bytes as signed bytes, whose values are 128 smaller.
 */
static inline void q8_correct_rows(const struct nn_gemm_q8 *g, bool flips, const uint8_t *a,
				   size_t rows, const struct q8_tail *t, int32_t *corrections)
{
	const bool is_signed = g->a_flip;
	const int32_t zero = g->b_zero + (is_signed || flips ? 0 : 128);
	const int32_t more = flips ? 128 * (int32_t)g->depth : 0;

	if (!zero) {
		memset(corrections, 0, rows * sizeof(*corrections));
		return;
	}
	for (size_t i = 0; i < rows; i++)
		corrections[i] = -zero * (q8_sum_row(a + i * g->a_stride, t, is_signed) - more);
}

/* Maximum number of panels that are multiplied at a time, and maximum number of rows in a tile. */
#define Q8_EIGHTS 2
#define Q8_ROWS 8

/*
 * The arguments for multiplying rows by one or two panels. The structure is passed by value, so
 * that compilers know that stores of results do not change the arguments.
 */
struct q8_panel {
	const uint8_t *a;
	size_t a_stride;
	size_t depth;			/* number of elements before the tail */
	struct q8_tail tail;
	const int32_t *corrections;
	const uint8_t *w;
	size_t next;			/* distance in bytes between the weights of two panels */
	uint8_t *c;
	size_t c_stride;
	/* where to store sums; if NULL, bytes are stored in `c` instead */
	int32_t *sums;
	size_t sums_stride;
	size_t columns;
	int32x4_t bias[2 * Q8_EIGHTS];
	int32x4_t multiplier[2 * Q8_EIGHTS];
	int32x4_t shift[2 * Q8_EIGHTS];
	struct q8_bounds bounds;
};

/*
 * Returns the arguments for multiplying the rows from `row` on by `eights` panels, the first of
 * which begins at column `column`.
 */
static inline ALWAYS_INLINE struct q8_panel q8_panel_of(const struct nn_gemm_q8 *g,
							const struct q8_tail *tail, size_t row,
							size_t column,
							const int32_t *corrections,
							const struct nn_q8_eight *eight,
							size_t size, size_t eights)
{
	struct q8_panel p = {
		.a = g->a + row * g->a_stride,
		.a_stride = g->a_stride,
		.depth = tail->depth,
		.tail = *tail,
		.corrections = corrections,
		.w = (const uint8_t *)(eight + 1),
		.next = size,
		.c = g->c + row * g->c_stride + column,
		.c_stride = g->c_stride,
		.sums = g->sums ? g->sums + row * g->sums_stride + column : NULL,
		.sums_stride = g->sums_stride,
		.columns = g->columns - column,
		.bounds = q8_bounds_of(&g->out),
	};

	for (size_t i = 0; i < 2 * eights; i++) {
		const struct nn_q8_eight *e = (const void *)((const char *)eight + i / 2 * size);
		const size_t at = i % 2 * 4;

		p.bias[i] = vld1q_s32(e->bias + at);
		p.multiplier[i] = vld1q_s32(e->multiplier + at);
		p.shift[i] = vld1q_s32(e->shift + at);
	}
	return p;
}

/* Advances the arguments by `rows` rows. */
static inline ALWAYS_INLINE void q8_panel_advance(struct q8_panel *p, size_t rows)
{
	p->a += rows * p->a_stride;
	p->c += rows * p->c_stride;
	if (p->sums)
		p->sums += rows * p->sums_stride;
	p->corrections += rows;
}

/*
 * Multiplies rows by one panel, or by two panels if the function supports two panels and more than
 * eight columns are left.
 */
typedef void q8_panel_fn(const struct q8_panel *p, size_t rows);

/* Defines a function that calls run_panel() with constants for `kind` and `positive`. */
#define Q8_PANEL(name, kind, positive)						\
static void name(const struct q8_panel *p, size_t rows)				\
{										\
	run_panel(kind, positive, *p, rows);					\
}

/*
 * Chooses the function that multiplies by a panel; `positive` is the result of nn_q8_is_positive().
 */
typedef q8_panel_fn *q8_choose_fn(const struct nn_gemm_q8 *g, const struct nn_q8_eight *eight,
				  bool positive);

/*
 * Multiplies all rows by all panels, in blocks of rows, and by up to `most` panels at a time. If
 * `flips`, the product converts unsigned bytes of the rows to signed bytes.
 */
static inline ALWAYS_INLINE void q8_run_panels(const struct nn_gemm_q8 *g, size_t group,
					       size_t most, bool flips, q8_choose_fn *choose)
{
	const size_t panel_size = nn_q8_eight_size(group, g->depth);
	const bool positive = nn_q8_is_positive(&g->out);
	const struct q8_tail tail = q8_tail_of(g->depth);
	int32_t corrections[Q8_BLOCK];

	for (size_t row = 0; row < g->rows; row += Q8_BLOCK) {
		size_t rows = g->rows - row < Q8_BLOCK ? g->rows - row : Q8_BLOCK;
		const char *panel = g->panels;

		q8_correct_rows(g, flips, g->a + row * g->a_stride, rows, &tail, corrections);
		for (size_t at = 0, eights; at < g->columns; at += 8 * eights) {
			const struct nn_q8_eight *eight = (const void *)panel;
			struct q8_panel p;

			eights = most > 1 && g->columns - at > 8 ? most : 1;
			p = q8_panel_of(g, &tail, row, at, corrections, eight, panel_size, eights);
			panel += eights * panel_size;
			choose(g, eight, positive)(&p, rows);
		}
	}
}

/*
 * Defines the function `name`, which computes a product with run_panel(). The instructions for the
 * product multiply bytes of equal signedness, `group` elements of depth at a time.
 */
#define Q8_PRODUCT(name, group)							\
Q8_PANEL(run_unsigned, false, false)						\
Q8_PANEL(run_unsigned_positive, false, true)					\
Q8_PANEL(run_signed, true, false)						\
Q8_PANEL(run_signed_positive, true, true)					\
										\
static q8_panel_fn *choose_sign(const struct nn_gemm_q8 *g,			\
				const struct nn_q8_eight *eight, bool positive)	\
{										\
	(void)eight;								\
	if (g->a_flip)								\
		return positive ? run_signed_positive : run_signed;		\
	return positive ? run_unsigned_positive : run_unsigned;			\
}										\
										\
void name(const struct nn_gemm_q8 *g)						\
{										\
	q8_run_panels(g, group, Q8_EIGHTS, false, choose_sign);				\
}

/* Scales the sums of up to eight columns and stores the results as bytes. */
static inline ALWAYS_INLINE void q8_store_sums(uint8_t *c, int32x4_t x, int32x4_t y,
					       const int32x4_t multiplier[2],
					       const int32x4_t shift[2], bool positive,
					       const struct q8_bounds *b, size_t columns)
{
	x = q8_scaled(x, multiplier[0], shift[0], positive);
	y = q8_scaled(y, multiplier[1], shift[1], positive);
	q8_store_eight(c, x, y, b, columns);
}

/* Scales the sums of one row and stores the results as bytes. */
static inline ALWAYS_INLINE void q8_row_store(const struct q8_panel *p, int eights, bool positive,
					      uint8_t *c, const int32x4_t *sums, size_t columns)
{
	int16x8_t wide[Q8_EIGHTS];
	uint8x16_t bytes;

	if (eights == 1 || columns < 16) {
		if (eights > 1)
			q8_store_sums(c + 8, sums[2], sums[3], p->multiplier + 2, p->shift + 2,
				      positive, &p->bounds, columns - 8);
		q8_store_sums(c, sums[0], sums[1], p->multiplier, p->shift, positive, &p->bounds,
			      columns);
		return;
	}
	UNROLL
	for (int i = 0; i < Q8_EIGHTS; i++)
		wide[i] = q8_from_low(q8_scaled(sums[2 * i], p->multiplier[2 * i],
						p->shift[2 * i], positive),
				      q8_scaled(sums[2 * i + 1], p->multiplier[2 * i + 1],
						p->shift[2 * i + 1], positive), &p->bounds);
	bytes = vqmovun_high_s16(vqmovun_s16(wide[0]), wide[1]);
	vst1q_u8(c, vaddq_u8(vminq_u8(bytes, p->bounds.high), p->bounds.low));
}

/* Stores the results of `rows` rows as bytes or sums. */
static inline ALWAYS_INLINE void q8_panel_store(const struct q8_panel *p, int rows, int eights,
						bool positive, int32x4_t sums[][2 * Q8_EIGHTS])
{
	int32x4_t few[Q8_ROWS][2 * Q8_EIGHTS];

	if (!p->sums && p->columns >= 8 * (size_t)eights) {
		UNROLL
		for (int i = 0; i < rows; i++)
			q8_row_store(p, eights, positive, p->c + (size_t)i * p->c_stride, sums[i],
				     8 * (size_t)eights);
		return;
	}
	/*
	 * The sums are copied to memory, because the next loop has no constant number of
	 * iterations.
	 */
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int v = 0; v < 2 * eights; v++)
			few[i][v] = sums[i][v];
	}
	for (int i = 0; i < rows; i++) {
		if (p->sums)
			memcpy(p->sums + (size_t)i * p->sums_stride, few[i],
			       2 * (size_t)eights * sizeof(few[i][0]));
		else
			q8_row_store(p, eights, positive, p->c + (size_t)i * p->c_stride, few[i],
				     p->columns);
	}
}

#endif /* NN_PLAN_KERNELS_Q8_NEON_H */
