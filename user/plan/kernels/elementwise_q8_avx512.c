/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic on bytes with AVX-512, sums and extremes of pixels, tables.
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

/* Up to 16 bytes as values, or one for all. */
static inline ALWAYS_INLINE TARGET __m512i values_of(const uint8_t *p, bool one, size_t left,
						     __m128i flip, int32_t zero)
{
	const __mmask16 mask = left >= LANES ? 0xffff : (__mmask16)((1u << left) - 1);
	const __m128i bytes = one ? _mm_set1_epi8((char)*p) : _mm_maskz_loadu_epi8(mask, p);

	return _mm512_sub_epi32(_mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip)),
				_mm512_set1_epi32(zero));
}

/* A masked store takes several times as long as one of a vector. */
static inline ALWAYS_INLINE TARGET void store(uint8_t *out, size_t count, __m128i bytes)
{
	if (count >= LANES)
		_mm_storeu_si128((__m128i *)out, bytes);
	else
		_mm_mask_storeu_epi8(out, (__mmask16)((1u << count) - 1), bytes);
}

struct factors_q8 {
	struct q8_scale a;
	struct q8_scale b;
	struct q8_scale out;
	bool halves_a;
	bool halves_b;
};

/* What an input gives to a sum. */
static inline ALWAYS_INLINE TARGET __m512i term(__m512i x, const struct q8_scale *scale,
						bool halves)
{
	return halves ? _mm512_slli_epi32(x, NN_Q8_SUM_BITS - 1) :
	       q8_scaled(_mm512_slli_epi32(x, NN_Q8_SUM_BITS), scale, false);
}

static inline ALWAYS_INLINE TARGET __m512i operate(enum nn_binary operation, __m512i x, __m512i y,
						   const struct factors_q8 *f)
{
	const __mmask16 negative = _mm512_cmplt_epi32_mask(x, _mm512_setzero_si512());
	__m512i product;

	if (operation == NN_BINARY_ADD || operation == NN_BINARY_SUB) {
		if (operation == NN_BINARY_SUB)
			y = _mm512_sub_epi32(_mm512_setzero_si512(), y);
		x = term(x, &f->a, f->halves_a);
		y = term(y, &f->b, f->halves_b);
		return q8_scaled(_mm512_add_epi32(x, y), &f->out, false);
	}
	product = q8_scaled(_mm512_mullo_epi32(x, y), &f->out, false);
	if (operation == NN_BINARY_MUL)
		return product;
	return _mm512_mask_blend_epi32(negative, q8_scaled(x, &f->a, false), product);
}

static inline ALWAYS_INLINE TARGET void row_of_q8(enum nn_binary operation, bool one_a, bool one_b,
						  const struct nn_binary_q8 *b,
						  const struct factors_q8 *f, size_t row)
{
	const __m512i zero = _mm512_set1_epi32(b->output.zero);
	const __m512i low = _mm512_set1_epi32(b->output.low);
	const __m512i high = _mm512_set1_epi32(b->output.high);
	const __m128i flip = _mm_set1_epi8((char)b->flip);
	const uint8_t *from_a = b->a + row * b->a_stride, *from_b = b->b + row * b->b_stride;
	const int32_t a_zero = b->a_zero, b_zero = b->b_zero;
	uint8_t *out = b->out + row * b->count;
	const size_t count = b->count;

	for (size_t i = 0; i < count; i += LANES) {
		const size_t left = count - i;
		__m512i x = values_of(one_a ? from_a : from_a + i, one_a, left, flip, a_zero);
		__m512i y = values_of(one_b ? from_b : from_b + i, one_b, left, flip, b_zero);

		x = _mm512_add_epi32(operate(operation, x, y, f), zero);
		x = _mm512_min_epi32(_mm512_max_epi32(x, low), high);
		store(out + i, left, _mm_xor_si128(_mm512_cvtepi32_epi8(x), flip));
	}
}

#include "plan/kernels/binary_rows_q8.h"

TARGET void nn_binary_q8_avx512(const struct nn_binary_q8 *b)
{
	binary_q8(b);
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

TARGET void nn_max_q8_avx512(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
			     uint8_t flip, uint8_t *largest)
{
	const __mmask32 mask = channels >= NN_MAX_CHANNELS ? 0xffffffff : (1u << channels) - 1;
	const __m256i flips = _mm256_set1_epi8((char)flip);
	__m256i max = _mm256_xor_si256(_mm256_maskz_loadu_epi8(mask, largest), flips);

	for (size_t i = 0; i < pixels; i++) {
		const __m256i bytes = _mm256_maskz_loadu_epi8(mask, x + i * stride);

		max = _mm256_max_epu8(max, _mm256_xor_si256(bytes, flips));
	}
	_mm256_mask_storeu_epi8(largest, mask, _mm256_xor_si256(max, flips));
}

/* A byte finds its entry in that of 16 parts of the table that its upper half names. */
TARGET void nn_lookup_q8_avx512(const uint8_t *table, const uint8_t *in, uint8_t *out, size_t count)
{
	const __m512i part = _mm512_set1_epi8(16), above = _mm512_set1_epi8(0x70);
	__m512i parts[16];

	for (size_t k = 0; k < 16; k++)
		parts[k] = _mm512_broadcast_i32x4(
			_mm_loadu_si128((const __m128i *)(table + 16 * k)));
	for (size_t i = 0; i < count; i += 64) {
		const size_t left = count - i;
		const __mmask64 mask = left >= 64 ? ~0ull : (1ull << left) - 1;
		__m512i x = _mm512_maskz_loadu_epi8(mask, in + i), found = _mm512_setzero_si512();

		/* Beyond a part the index' sign bit is set, which finds 0. */
		UNROLL
		for (size_t k = 0; k < 16; k++) {
			found = _mm512_or_si512(found, _mm512_shuffle_epi8(parts[k],
							_mm512_adds_epu8(x, above)));
			x = _mm512_sub_epi8(x, part);
		}
		_mm512_mask_storeu_epi8(out + i, mask, found);
	}
}

#endif
