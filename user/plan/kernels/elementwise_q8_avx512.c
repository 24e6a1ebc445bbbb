/* SPDX-License-Identifier: MIT */
/*
 * Sums of bytes with AVX-512: of two tensors, and of pixels.
 */
#if defined(__x86_64__)

#include "plan/kernels/q8_avx512.h"
#include "plan/kernels/quant8.h"

#define TARGET NN_TARGET_AVX512
#define LANES 16

/* One factor for all lanes. */
static inline ALWAYS_INLINE TARGET struct q8_scale splat_factor(const struct nn_q8_factor *f)
{
	const __m512i shift = _mm512_set1_epi32(f->shift);

	return (struct q8_scale){
		.multiplier = _mm512_set1_epi32(f->value),
		.multiplier_odd = _mm512_set1_epi32(f->value),
		.shift = shift,
		.round_even = _mm512_set1_epi64(nn_q8_round(f->shift)),
		.round_odd = _mm512_set1_epi64(nn_q8_round(f->shift)),
		.shifts = _mm512_test_epi32_mask(shift, shift),
	};
}

/* Bytes as values with 20 bits more, at the common scale. */
static inline ALWAYS_INLINE TARGET __m512i term(__m128i bytes, __m128i flip, int32_t zero,
						const struct q8_scale *scale)
{
	const __m512i x = _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip));

	return q8_scaled(_mm512_slli_epi32(_mm512_sub_epi32(x, _mm512_set1_epi32(zero)), 20),
			 scale, false);
}

/* A masked store takes several times as long as one of a vector. */
static inline ALWAYS_INLINE TARGET void store(uint8_t *out, size_t count, __m128i bytes)
{
	if (count >= LANES)
		_mm_storeu_si128((__m128i *)out, bytes);
	else
		_mm_mask_storeu_epi8(out, (__mmask16)((1u << count) - 1), bytes);
}

TARGET void nn_add_q8_avx512(const struct nn_add_q8 *a)
{
	const struct q8_scale scale_a = splat_factor(&a->a_factor);
	const struct q8_scale scale_b = splat_factor(&a->b_factor);
	const struct q8_scale scale_out = splat_factor(&a->out_factor);
	const __m512i zero = _mm512_set1_epi32(a->output.zero);
	const __m512i low = _mm512_set1_epi32(a->output.low);
	const __m512i high = _mm512_set1_epi32(a->output.high);
	const __m128i flip = _mm_set1_epi8((char)a->flip);
	const int32_t a_zero = a->a_zero, b_zero = a->b_zero;
	const uint8_t *from_a = a->a, *from_b = a->b;
	const size_t count = a->count;
	uint8_t *out = a->out;

	for (size_t i = 0; i < count; i += LANES) {
		const size_t left = count - i;
		const __mmask16 mask = left >= LANES ? 0xffff : (__mmask16)((1u << left) - 1);
		__m512i x = term(_mm_maskz_loadu_epi8(mask, from_a + i), flip, a_zero, &scale_a);

		x = _mm512_add_epi32(x, term(_mm_maskz_loadu_epi8(mask, from_b + i), flip, b_zero,
					     &scale_b));
		x = _mm512_add_epi32(q8_scaled(x, &scale_out, false), zero);
		x = _mm512_min_epi32(_mm512_max_epi32(x, low), high);
		store(out + i, left, _mm_xor_si128(_mm512_cvtepi32_epi8(x), flip));
	}
}

TARGET void nn_sum_q8_avx512(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
			     uint8_t flip, int32_t *sums)
{
	const __mmask16 mask = channels >= LANES ? 0xffff : (__mmask16)((1u << channels) - 1);
	const __m128i flips = _mm_set1_epi8((char)flip);
	__m512i sum = _mm512_maskz_loadu_epi32(mask, sums);

	for (size_t i = 0; i < pixels; i++) {
		const __m128i bytes = _mm_maskz_loadu_epi8(mask, x + i * stride);

		sum = _mm512_add_epi32(sum, _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flips)));
	}
	_mm512_mask_storeu_epi32(sums, mask, sum);
}

#endif
