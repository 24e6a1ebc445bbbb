/* SPDX-License-Identifier: MIT */
/*
 * Int8 depthwise convolution with AVX-512 VNNI. The instruction VPDPBUSD sums four products, so the
 * bytes of four input rows are interleaved first.
 */
#if defined(__x86_64__)

#include <string.h>

#include "plan/kernels/depthwise_q8.h"
#include "plan/kernels/q8_avx512.h"

#define TARGET NN_TARGET_VNNI
#define BLOCK DEPTHWISE_Q8_BLOCK /* channels that are computed at a time: a vector of bytes */

static inline ALWAYS_INLINE TARGET __mmask64 first_bytes(size_t count)
{
	return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

/*
 * Interleaves the bytes of up to 64 channels from four rows, and stores one vector in each of the
 * four planes.
 */
static inline ALWAYS_INLINE TARGET void interleave(const __m512i row[4], uint8_t *to, size_t plane)
{
	const __m512i low01 = _mm512_unpacklo_epi8(row[0], row[1]);
	const __m512i high01 = _mm512_unpackhi_epi8(row[0], row[1]);
	const __m512i low23 = _mm512_unpacklo_epi8(row[2], row[3]);
	const __m512i high23 = _mm512_unpackhi_epi8(row[2], row[3]);

	_mm512_storeu_si512(to, _mm512_unpacklo_epi16(low01, low23));
	_mm512_storeu_si512(to + plane, _mm512_unpackhi_epi16(low01, low23));
	_mm512_storeu_si512(to + 2 * plane, _mm512_unpacklo_epi16(high01, high23));
	_mm512_storeu_si512(to + 3 * plane, _mm512_unpackhi_epi16(high01, high23));
}

/*
 * Interleaves `length` bytes of four rows, beginning at byte `from` of each row; a NULL row is
 * padding.
 */
static TARGET void interleave_stretch(const struct nn_depthwise_q8 *d, const uint8_t *const *rows,
				      size_t count, size_t from, size_t length, uint8_t *to,
				      size_t plane)
{
	const __m512i flip = _mm512_set1_epi8((char)d->in_flip);
	const __m512i zero = _mm512_set1_epi8((char)d->in_zero);

	for (size_t i = 0; i < length; i += BLOCK) {
		const __mmask64 mask = first_bytes(length - i);
		__m512i row[4];

		UNROLL
		for (size_t r = 0; r < 4; r++) {
			row[r] = zero;
			if (r < count && rows[r])
				row[r] = _mm512_xor_si512(flip,
					_mm512_maskz_loadu_epi8(mask, rows[r] + from + i));
		}
		interleave(row, to + i, plane);
	}
}

/*
 * Interleaves all input columns that an output row reads, and stores the columns in the planes of
 * the scratch memory, grouped by the column index modulo the stride.
 */
static TARGET void interleave_rows(const struct nn_depthwise_q8 *d,
				   const struct depthwise_q8_layout *l)
{
	static const uint8_t *const padding[4];

	for (size_t group = 0; group < l->groups; group++) {
		const uint8_t *const *rows = d->rows + 4 * group;
		size_t left = d->height - 4 * group;
		uint8_t *to = d->scratch + group * l->group_size;

		for (size_t at = 0; at < l->columns; at++) {
			ptrdiff_t x = (ptrdiff_t)at - d->head;
			bool inside = x >= 0 && x < (ptrdiff_t)d->in_width;
			size_t length = 1;

			/*
			 * If the stride is 1 and pixels have no gaps in memory, one call
			 * interleaves many columns.
			 */
			if (inside && d->stride == 1 && d->channels == d->padded) {
				length = d->in_width - (size_t)x;
				if (length > l->columns - at)
					length = l->columns - at;
			}
			interleave_stretch(d, inside ? rows : padding, left,
					   inside ? (size_t)x * d->channels : 0,
					   length * d->channels, to + depthwise_q8_place(d, l, at),
					   l->plane);
			at += length - 1;
		}
	}
}

/*
 * Parameters of the loops that compute an output row. The loops use a local variable of this type,
 * so that compilers need not reload the parameters after each store of results.
 */
struct row {
	const uint8_t *packed;
	size_t blocks;
	size_t block_size;
	size_t plane;
	int32_t filter_zero;
	bool is_signed;
	__m512i zero;
	__m512i low;
	__m512i high;
};

struct sums {
	i32x16 acc[NN_DEPTHWISE_PLANES];
	/* sums of inputs, to be multiplied by the filter's zero point */
	i32x16 ones[NN_DEPTHWISE_PLANES];
};

/*
 * Number of interleaved taps of the most frequent filters, which have three columns and up to four
 * rows.
 */
#define FAST_TAPS 3
#define MAX_TAPS 256

/* Adds the products of one tap, for 64 channels, to the sums. */
static inline ALWAYS_INLINE TARGET void sum_tap(const uint8_t *x, size_t plane, const uint8_t *w,
						bool biased, struct sums *s)
{
	UNROLL
	for (size_t p = 0; p < NN_DEPTHWISE_PLANES; p++) {
		const __m512i v = _mm512_loadu_epi32(x + p * plane);

		s->acc[p] = (i32x16)_mm512_dpbusd_epi32((__m512i)s->acc[p], v,
							_mm512_loadu_epi32(w + p * 64));
		if (biased)
			s->ones[p] = (i32x16)_mm512_dpbusd_epi32((__m512i)s->ones[p], v,
								 _mm512_set1_epi8(1));
	}
}

/* Sums the taps of 64 channels; the input of the channels begins at `x` in the scratch memory. */
static inline ALWAYS_INLINE TARGET void sum_taps(const struct row *r, const size_t *places,
						 size_t taps, bool biased, const uint8_t *x,
						 const uint8_t *w, struct sums *s)
{
	if (taps == FAST_TAPS) {
		UNROLL
		for (size_t tap = 0; tap < FAST_TAPS; tap++)
			sum_tap(x + places[tap], r->plane, w + tap * DEPTHWISE_Q8_VECTORS, biased,
				s);
	} else {
		for (size_t tap = 0; tap < taps; tap++)
			sum_tap(x + places[tap], r->plane, w + tap * DEPTHWISE_Q8_VECTORS, biased,
				s);
	}
}

/* Stores the output bytes of up to 64 channels. */
static inline ALWAYS_INLINE TARGET void finish(const struct row *r,
					       const __m512i x[NN_DEPTHWISE_PLANES], uint8_t *out,
					       size_t count)
{
	__m512i a = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), r->zero);
	__m512i b = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), r->zero);

	if (r->is_signed) {
		a = _mm512_packs_epi16(a, b);
		a = _mm512_min_epi8(_mm512_max_epi8(a, r->low), r->high);
	} else {
		a = _mm512_packus_epi16(a, b);
		a = _mm512_min_epu8(_mm512_max_epu8(a, r->low), r->high);
	}
	if (count >= BLOCK)
		_mm512_storeu_si512(out, a);
	else
		_mm512_mask_storeu_epi8(out, first_bytes(count), a);
}

/* Loads the parameter `which` of a block of channels, for plane p. */
static inline ALWAYS_INLINE TARGET __m512i scales(const uint8_t *block,
						  enum depthwise_q8_scale which, size_t p)
{
	return _mm512_loadu_epi32(block + (size_t)which * DEPTHWISE_Q8_VECTORS + p * 64);
}

/*
 * Computes up to 64 channels of an output row. `x` is the input of the channels in the scratch
 * memory, and `block` has the parameters of the channels.
 */
static inline ALWAYS_INLINE TARGET void run_block(const struct row *r, const size_t *places,
						  size_t taps, bool biased, bool positive,
						  const uint8_t *x, const uint8_t *block,
						  uint8_t *out, size_t count)
{
	__m512i scaled[NN_DEPTHWISE_PLANES];
	struct sums s;

	UNROLL
	for (size_t p = 0; p < NN_DEPTHWISE_PLANES; p++) {
		s.acc[p] = (i32x16)scales(block, BIAS_TERM, p);
		s.ones[p] = (i32x16){ 0 };
	}
	sum_taps(r, places, taps, biased, x, block + DEPTHWISE_Q8_SCALES * DEPTHWISE_Q8_VECTORS,
		 &s);
	UNROLL
	for (size_t p = 0; p < NN_DEPTHWISE_PLANES; p++) {
		const __m512i multiplier = scales(block, MULTIPLIER, p);
		const __m512i shift = scales(block, SHIFT, p);
		const struct q8_scale scale = {
			.multiplier = multiplier,
			.multiplier_odd = _mm512_srli_epi64(multiplier, 32),
			.shift = shift,
			.round_even = scales(block, ROUND_EVEN, p),
			.round_odd = scales(block, ROUND_ODD, p),
			.shifts = _mm512_test_epi32_mask(shift, shift),
		};

		if (biased)
			s.acc[p] -= s.ones[p] * r->filter_zero;
		scaled[p] = q8_scaled((__m512i)s.acc[p], &scale, positive);
	}
	finish(r, scaled, out, count);
}

static inline ALWAYS_INLINE TARGET void run(const struct nn_depthwise_q8 *d, struct row r,
					    const size_t *places, size_t taps, bool biased,
					    bool positive)
{
	/*
	 * If pixels have no gaps in memory, the whole output row is computed as one series of
	 * blocks.
	 */
	const size_t channels = d->channels, padded = d->padded;
	const size_t stretches = channels == padded ? 1 : d->out_width;
	const size_t length = channels == padded ? d->out_width * channels : channels;
	const uint8_t *last = r.packed + (r.blocks - 1) * r.block_size, *x = d->scratch;
	uint8_t *out = d->out;

	for (size_t i = 0; i < stretches; i++, out += channels, x += padded) {
		const uint8_t *params = r.packed;

		for (size_t j = 0; j < length; j += BLOCK) {
			run_block(&r, places, taps, biased, positive, x + j, params, out + j,
				  length - j);
			params = params == last ? r.packed : params + r.block_size;
		}
	}
}

static TARGET void run_fast(const struct nn_depthwise_q8 *d, const struct row *r,
			    const size_t *places)
{
	const size_t copy[FAST_TAPS] = { places[0], places[1], places[2] };

	if (nn_q8_is_positive(&d->output))
		run(d, *r, copy, FAST_TAPS, false, true);
	else
		run(d, *r, copy, FAST_TAPS, false, false);
}

static TARGET void run_fast_biased(const struct nn_depthwise_q8 *d, const struct row *r,
				   const size_t *places)
{
	const size_t copy[FAST_TAPS] = { places[0], places[1], places[2] };

	if (nn_q8_is_positive(&d->output))
		run(d, *r, copy, FAST_TAPS, true, true);
	else
		run(d, *r, copy, FAST_TAPS, true, false);
}

static TARGET void run_any(const struct nn_depthwise_q8 *d, const struct row *r,
			   const size_t *places, size_t taps)
{
	run(d, *r, places, taps, true, false);
}

TARGET void nn_depthwise_q8_avx512(const struct nn_depthwise_q8 *d)
{
	const struct depthwise_q8_layout l = depthwise_q8_layout(d);
	const struct nn_q8_output *o = &d->output;
	const struct row r = {
		.packed = d->packed,
		.blocks = l.blocks,
		.block_size = l.block_size,
		.plane = l.plane,
		.filter_zero = d->filter_zero,
		.is_signed = o->low < 0,
		.zero = _mm512_set1_epi16((int16_t)o->zero),
		.low = _mm512_set1_epi8((char)o->low),
		.high = _mm512_set1_epi8((char)o->high),
	};
	size_t places[MAX_TAPS], taps = 0;

	interleave_rows(d, &l);
	for (size_t column = 0; column < d->width; column++)
		for (size_t group = 0; group < l.groups; group++)
			places[taps++] = depthwise_q8_place(d, &l, column * d->dilation) +
					 group * l.group_size;
	if (taps != FAST_TAPS)
		run_any(d, &r, places, taps);
	else if (d->filter_zero)
		run_fast_biased(d, &r, places);
	else
		run_fast(d, &r, places);
}

#endif
