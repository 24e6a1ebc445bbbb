/* SPDX-License-Identifier: MIT */
/*
 * Int8 depthwise convolution with NEON. The loops subtract the zero point while they widen bytes to
 * 16 bits, and compute eight channels at a time.
 */
#if defined(__aarch64__)

/*
 * Prevents gcc from scheduling loads early: the CPU has too few registers for all loaded inputs,
 * eight sums and nine taps.
 */
#ifndef __clang__
#pragma GCC optimize("no-schedule-insns")
#endif

#include "plan/kernels/q8_neon.h"

#define FAST 3			/* width and height of filters with a fast path */
#define COLUMNS 4		/* output columns that are computed together */
#define REACH (2 * COLUMNS + 1)	/* maximum number of input columns that COLUMNS outputs read */

/* Returns the filter of a panel: eight 16-bit values for each tap. */
static const int16_t *filter_of(const struct nn_q8_eight *panel)
{
	return (const int16_t *)(panel + 1);
}

static inline ALWAYS_INLINE int16x8_t widen(bool is_signed, uint8x8_t x, uint8x8_t zero)
{
	if (is_signed)
		return vsubl_s8(vreinterpret_s8_u8(x), vreinterpret_s8_u8(zero));
	return vreinterpretq_s16_u16(vsubl_u8(x, zero));
}

/* Adds the products of eight channels to the channels' sums. */
static inline ALWAYS_INLINE void add_products(int32x4_t sums[2], int16x8_t x, int16x8_t w)
{
#ifdef __clang__
	sums[0] = vmlal_s16(sums[0], vget_low_s16(x), vget_low_s16(w));
	sums[1] = vmlal_high_s16(sums[1], x, w);
#else
	/*
	 * Intrinsics would be slower, because gcc 12 copies the lower halves of x and w to
	 * additional registers.
	 */
	__asm__("smlal %0.4s, %1.4h, %2.4h" : "+w"(sums[0]) : "w"(x), "w"(w));
	__asm__("smlal2 %0.4s, %1.8h, %2.8h" : "+w"(sums[1]) : "w"(x), "w"(w));
#endif
}

/* Returns the zero point of the input's bytes before the XOR with in_flip. */
static uint8x8_t zero_of(const struct nn_depthwise_q8 *d)
{
	return vdup_n_u8(d->in_zero ^ d->in_flip);
}

/*
 * Computes output columns [first, last), at least COLUMNS columns, for eight channels from channel
 * `c` on. All filter columns and the filter rows [row, row + height) are inside the image.
 */
static inline ALWAYS_INLINE void run_inner(const struct nn_depthwise_q8 *d, int height,
					   int stride, bool is_signed, bool positive, size_t row,
					   size_t c, size_t first, size_t last,
					   const struct nn_q8_eight *panel)
{
	const int reach = (COLUMNS - 1) * stride + FAST;
	const size_t channels = d->channels;
	const size_t start = first * (size_t)stride - (size_t)d->head;
	const struct q8_bounds bounds = q8_bounds_of(&d->output);
	const int16_t *filter = filter_of(panel) + row * FAST * 8;
	const int32x4_t multiplier[2] = { vld1q_s32(panel->multiplier),
					  vld1q_s32(panel->multiplier + 4) };
	const int32x4_t shift[2] = { vld1q_s32(panel->shift), vld1q_s32(panel->shift + 4) };
	const int32x4_t bias[2] = { vld1q_s32(panel->bias), vld1q_s32(panel->bias + 4) };
	const uint8x8_t zero = zero_of(d);
	const uint8_t *in[FAST];
	uint8_t *out = d->out + first * channels + c;
	size_t offsets[REACH];
	int16x8_t w[FAST][FAST];

	UNROLL
	for (int i = 0; i < height; i++) {
		in[i] = d->rows[row + (size_t)i] + start * channels + c;
		UNROLL
		for (int j = 0; j < FAST; j++)
			w[i][j] = vld1q_s16(filter + (i * FAST + j) * 8);
	}
	/*
	 * The assembly hides the values of the offsets from the compiler, which would otherwise
	 * compute the offsets again for each row.
	 */
	UNROLL
	for (int n = 0; n < reach; n++) {
		offsets[n] = (size_t)n * channels;
		__asm__("" : "+r"(offsets[n]));
	}
	/* The last iteration may compute some columns a second time. */
	for (size_t x = first, by = COLUMNS; x < last; x += by) {
		int32x4_t acc[COLUMNS][2];

		UNROLL
		for (int k = 0; k < COLUMNS; k++) {
			acc[k][0] = bias[0];
			acc[k][1] = bias[1];
		}
		by = last - x - COLUMNS;
		if (by > COLUMNS)
			by = COLUMNS;
		UNROLL
		for (int i = 0; i < height; i++) {
			UNROLL
			for (int n = 0; n < reach; n++) {
				const int16x8_t v = widen(is_signed, vld1_u8(in[i] + offsets[n]),
							  zero);

				UNROLL
				for (int k = 0; k < COLUMNS; k++) {
					const int j = n - k * stride;

					if (j >= 0 && j < FAST)
						add_products(acc[k], v, w[i][j]);
				}
			}
			in[i] += by * (size_t)stride * channels;
		}
		UNROLL
		for (int k = 0; k < COLUMNS; k++)
			q8_store_sums(out + (size_t)k * channels, acc[k][0], acc[k][1], multiplier,
				      shift, positive, &bounds, 8);
		out += by * channels;
		if (!by)
			break;
	}
}

typedef void inner_fn(const struct nn_depthwise_q8 *d, size_t row, size_t c, size_t first,
		      size_t last, const struct nn_q8_eight *panel);

#define INNER(name, height, stride, is_signed)						\
static void name(const struct nn_depthwise_q8 *d, size_t row, size_t c, size_t first,	\
		 size_t last, const struct nn_q8_eight *panel)				\
{											\
	run_inner(d, height, stride, is_signed, false, row, c, first, last, panel);	\
}											\
static void name##_positive(const struct nn_depthwise_q8 *d, size_t row, size_t c,	\
			    size_t first, size_t last,					\
			    const struct nn_q8_eight *panel)				\
{											\
	run_inner(d, height, stride, is_signed, true, row, c, first, last, panel);	\
}
INNER(near_2, 2, 1, false)
INNER(near_3, 3, 1, false)
INNER(far_2, 2, 2, false)
INNER(far_3, 3, 2, false)
INNER(near_2_signed, 2, 1, true)
INNER(near_3_signed, 3, 1, true)
INNER(far_2_signed, 2, 2, true)
INNER(far_3_signed, 3, 2, true)

/*
 * Returns the inner loop for the two or three rows of a 3 x 3 filter that are inside the image, and
 * sets *row to the first row inside. Returns NULL if fewer than two rows are inside the image, or
 * if the convolution has no fast path.
 */
static inner_fn *find_inner(const struct nn_depthwise_q8 *d, size_t *row)
{
	/*
	 * The inner loops, indexed by signedness, by stride - 1, by whether three rows are inside
	 * the image, and by nn_q8_is_positive().
	 */
	static inner_fn *const all[2][2][2][2] = {
		{ { { near_2, near_2_positive }, { near_3, near_3_positive } },
		  { { far_2, far_2_positive }, { far_3, far_3_positive } } },
		{ { { near_2_signed, near_2_signed_positive },
		    { near_3_signed, near_3_signed_positive } },
		  { { far_2_signed, far_2_signed_positive },
		    { far_3_signed, far_3_signed_positive } } },
	};

	*row = d->height == FAST && !d->rows[0];
	if (d->width != FAST || d->height != FAST || d->dilation != 1 || d->stride > 2 ||
	    !d->rows[1] || (!d->rows[0] && !d->rows[2]))
		return NULL;
	return all[!!d->in_flip][d->stride - 1][d->rows[0] && d->rows[2]]
		  [nn_q8_is_positive(&d->output)];
}

/* Loads up to eight bytes, and fills the rest of the vector with zeros. */
static inline uint8x8_t load_bytes(const uint8_t *p, size_t count)
{
	uint8_t bytes[8] = { 0 };

	if (count >= 8)
		return vld1_u8(p);
	for (size_t i = 0; i < count; i++)
		bytes[i] = p[i];
	return vld1_u8(bytes);
}

/*
 * Computes up to eight channels, from channel `c` on, of one output column; `taps` are the taps
 * inside the image.
 */
static inline ALWAYS_INLINE void run_window(const struct nn_depthwise_q8 *d, bool is_signed,
					    const struct nn_q8_tap *taps, size_t num_taps,
					    size_t c, size_t count,
					    const struct nn_q8_eight *panel, uint8_t *out)
{
	const struct q8_bounds bounds = q8_bounds_of(&d->output);
	const int16_t *w = filter_of(panel);
	const int32x4_t multiplier[2] = { vld1q_s32(panel->multiplier),
					  vld1q_s32(panel->multiplier + 4) };
	const int32x4_t shift[2] = { vld1q_s32(panel->shift), vld1q_s32(panel->shift + 4) };
	const uint8x8_t zero = zero_of(d);
	int32x4_t x = vld1q_s32(panel->bias), y = vld1q_s32(panel->bias + 4);

	for (size_t i = 0; i < num_taps; i++) {
		const int16x8_t v = widen(is_signed, load_bytes(taps[i].in + c, count), zero);
		const int16x8_t f = vld1q_s16(w + taps[i].weights);

		x = vmlal_s16(x, vget_low_s16(v), vget_low_s16(f));
		y = vmlal_high_s16(y, v, f);
	}
	q8_store_sums(out, x, y, multiplier, shift, false, &bounds, count);
}

/* Finds the taps inside the image for output column `x`; taps in the padding would only add 0. */
static size_t find_taps(const struct nn_depthwise_q8 *d, size_t x, struct nn_q8_tap *taps)
{
	const ptrdiff_t start = (ptrdiff_t)(x * d->stride) - d->head;
	size_t count = 0;

	for (size_t i = 0; i < d->height; i++) {
		ptrdiff_t at = start;

		for (size_t j = 0; j < d->width; j++, at += (ptrdiff_t)d->dilation) {
			if (!d->rows[i] || at < 0 || at >= (ptrdiff_t)d->in_width)
				continue;
			taps[count].in = d->rows[i] + (size_t)at * d->channels;
			taps[count++].weights = (i * d->width + j) * 8;
		}
	}
	return count;
}

/*
 * Number of taps of a 3 x 3 filter that are inside the image at an edge, and at a corner, of the
 * image.
 */
#define EDGE 6
#define CORNER 4

/*
 * Computes one output column, eight channels at a time, from channel `c` on. Returns the first
 * channel that was not computed.
 */
static inline ALWAYS_INLINE size_t run_edge(const struct nn_depthwise_q8 *d, bool is_signed,
					    int num_taps, const struct nn_q8_tap *taps, size_t c,
					    const uint8_t *packed, uint8_t *out)
{
	const size_t size = nn_q8_taps_size(d->height * d->width), channels = d->channels;
	const struct q8_bounds bounds = q8_bounds_of(&d->output);
	const uint8x8_t zero = zero_of(d);
	const uint8_t *in[EDGE];
	size_t weights[EDGE];

	UNROLL
	for (int i = 0; i < num_taps; i++) {
		in[i] = taps[i].in;
		weights[i] = taps[i].weights;
	}
	for (; c + 8 <= channels; c += 8, packed += size) {
		const struct nn_q8_eight *panel = (const void *)packed;
		const int16_t *filter = filter_of(panel);
		const int32x4_t multiplier[2] = { vld1q_s32(panel->multiplier),
						  vld1q_s32(panel->multiplier + 4) };
		const int32x4_t shift[2] = { vld1q_s32(panel->shift),
					     vld1q_s32(panel->shift + 4) };
		int32x4_t x = vld1q_s32(panel->bias), y = vld1q_s32(panel->bias + 4);

		UNROLL
		for (int i = 0; i < num_taps; i++) {
			const int16x8_t v = widen(is_signed, vld1_u8(in[i] + c), zero);
			const int16x8_t w = vld1q_s16(filter + weights[i]);

			x = vmlal_s16(x, vget_low_s16(v), vget_low_s16(w));
			y = vmlal_high_s16(y, v, w);
		}
		q8_store_sums(out + c, x, y, multiplier, shift, false, &bounds, 8);
	}
	return c;
}

/*
 * Calls run_edge() if the number of taps is EDGE or CORNER. For any other number of taps, computes
 * nothing and returns `c`.
 */
static size_t run_small(const struct nn_depthwise_q8 *d, const struct nn_q8_tap *taps,
			size_t num_taps, size_t c, const uint8_t *panel, uint8_t *out)
{
	if (num_taps == EDGE)
		return d->in_flip ? run_edge(d, true, EDGE, taps, c, panel, out) :
				    run_edge(d, false, EDGE, taps, c, panel, out);
	if (num_taps == CORNER)
		return d->in_flip ? run_edge(d, true, CORNER, taps, c, panel, out) :
				    run_edge(d, false, CORNER, taps, c, panel, out);
	return c;
}

/* Computes one output column for all channels from `c` on. */
static void run_column(const struct nn_depthwise_q8 *d, size_t x, size_t c,
		       struct nn_q8_tap *taps)
{
	const size_t num_taps = find_taps(d, x, taps);
	const size_t size = nn_q8_taps_size(d->height * d->width);
	uint8_t *out = d->out + x * d->channels;
	const uint8_t *panel;

	c = run_small(d, taps, num_taps, c, d->packed + c / 8 * size, out);
	panel = d->packed + c / 8 * size;
	for (; c < d->channels; c += 8, panel += size) {
		size_t count = d->channels - c;

		if (d->in_flip)
			run_window(d, true, taps, num_taps, c, count, (const void *)panel,
				   out + c);
		else
			run_window(d, false, taps, num_taps, c, count, (const void *)panel,
				   out + c);
	}
}

/* Finds the output columns [first, last) whose windows have no padding to the left and right. */
static void find_inside(const struct nn_depthwise_q8 *d, size_t *first, size_t *last)
{
	const ptrdiff_t reach = (ptrdiff_t)((d->width - 1) * d->dilation) + 1 - d->head;
	const ptrdiff_t room = (ptrdiff_t)d->in_width - reach;

	*first = d->head > 0 ? ((size_t)d->head + d->stride - 1) / d->stride : 0;
	*last = room < 0 ? 0 : (size_t)room / d->stride + 1;
	*last = *last < d->out_width ? *last : d->out_width;
	*first = *first < *last ? *first : *last;
}

void nn_depthwise_q8_neon(const struct nn_depthwise_q8 *d)
{
	const size_t size = nn_q8_taps_size(d->height * d->width);
	struct nn_q8_tap *taps = (void *)d->scratch;
	const uint8_t *panel = d->packed;
	size_t first, last, row, c = 0;
	inner_fn *inner = find_inner(d, &row);

	find_inside(d, &first, &last);
	if (inner && last - first >= COLUMNS)
		for (; c + 8 <= d->channels; c += 8, panel += size)
			inner(d, row, c, first, last, (const void *)panel);
	for (size_t x = 0; x < first; x++)
		run_column(d, x, 0, taps);
	for (size_t x = first; x < last && c < d->channels; x++)
		run_column(d, x, c, taps);
	for (size_t x = last; x < d->out_width; x++)
		run_column(d, x, 0, taps);
}

#endif
