/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for x86 CPUs with AVX2 and FMA.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "plan/kernels/isa_x86.h"
#include "plan/kernels/quant8.h"

#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROWS 6
#define VF __m256
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_SOME(p, n) _mm256_maskload_ps(p, first_lanes(n))
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_SOME(p, v, n) _mm256_maskstore_ps(p, first_lanes(n), v)
#define SPLAT(x) _mm256_set1_ps(x)
#define MADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SQRT(a) _mm256_sqrt_ps(a)
#define MIN(a, b) _mm256_min_ps(a, b)
#define MAX(a, b) _mm256_max_ps(a, b)
#define TILES(T) T(6, 2) T(3, 2) T(1, 2) T(6, 1) T(3, 1) T(1, 1)

TARGET static inline __m256i first_lanes(size_t n)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
				  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#include "plan/kernels/gemm_f32.h"
#include "plan/kernels/depthwise_f32.h"
#include "plan/kernels/elementwise_f32.h"
#include "plan/kernels/math_f32.h"

/* ---- Bytes ---- */

typedef int32_t sums_q8 __attribute__((vector_size(32)));
typedef int16_t wide_q8 __attribute__((vector_size(32)));

#define Q8_ROWS 6
#define DOT(a, b) ((sums_q8)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#define LOW_PAIRS(a, b) ((wide_q8)_mm256_unpacklo_epi16((__m256i)(a), (__m256i)(b)))
#define HIGH_PAIRS(a, b) ((wide_q8)_mm256_unpackhi_epi16((__m256i)(a), (__m256i)(b)))

/* NNAPI's fixed-point arithmetic, as q8_scaled() of q8_avx512.h has it. */
static inline ALWAYS_INLINE TARGET sums_q8 scale_q8(sums_q8 acc, const struct nn_q8_scale *s)
{
	const __m256i multiplier = _mm256_loadu_si256((const __m256i *)s->multiplier);
	const __m256i shift = _mm256_loadu_si256((const __m256i *)s->shift);
	const __m256i x = (__m256i)acc, twice = _mm256_add_epi32(x, x);
	const __m256i shifts = _mm256_cmpgt_epi32(shift, _mm256_setzero_si256());
	const __m256i sign = _mm256_and_si256(_mm256_srai_epi32(x, 31), shifts);
	__m256i even = _mm256_mul_epi32(twice, multiplier);
	__m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(twice, 32),
				       _mm256_srli_epi64(multiplier, 32));

	even = _mm256_add_epi64(even, _mm256_loadu_si256((const __m256i *)s->round_even));
	odd = _mm256_add_epi64(odd, _mm256_loadu_si256((const __m256i *)s->round_odd));
	odd = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
	return (sums_q8)_mm256_srav_epi32(_mm256_add_epi32(odd, sign), shift);
}

/* Up to 16 bytes of columns whose order packing undoes. */
static inline ALWAYS_INLINE TARGET void store_q8(uint8_t *out, sums_q8 x, sums_q8 y,
						 const struct nn_q8_output *o, size_t count)
{
	__m256i v = _mm256_packs_epi32((__m256i)x, (__m256i)y);
	__m128i bytes;

	v = _mm256_adds_epi16(v, _mm256_set1_epi16((int16_t)o->zero));
	v = _mm256_max_epi16(v, _mm256_set1_epi16((int16_t)o->low));
	v = _mm256_min_epi16(v, _mm256_set1_epi16((int16_t)o->high));
	v = _mm256_and_si256(v, _mm256_set1_epi16(0xff));
	bytes = _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	if (count >= 16)
		_mm_storeu_si128((__m128i *)out, bytes);
	else
		memcpy(out, &bytes, count);
}

#include "plan/kernels/q8_pairs.h"
#include "plan/kernels/bytes_q8.h"

static struct nn_q8_scale splat_factor(const struct nn_q8_factor *f)
{
	struct nn_q8_scale s = { .bias = { 0 } };

	for (size_t i = 0; i < LANES; i++) {
		s.multiplier[i] = f->value;
		s.shift[i] = f->shift;
		s.round_even[i / 2] = nn_q8_round(f->shift);
		s.round_odd[i / 2] = nn_q8_round(f->shift);
	}
	return s;
}

/* Up to 8 bytes as values, or one for all. */
static inline ALWAYS_INLINE TARGET __m256i values_of(const uint8_t *p, bool one, size_t count,
						     uint8_t flip, int32_t zero)
{
	uint64_t bytes = 0;
	__m128i x;

	if (one)
		return _mm256_set1_epi32((*p ^ flip) - zero);
	/* Mostly: a size that the compiler knows. */
	if (count >= LANES)
		memcpy(&bytes, p, LANES);
	else
		memcpy(&bytes, p, count);
	x = _mm_xor_si128(_mm_cvtsi64_si128((long long)bytes), _mm_set1_epi8((char)flip));
	return _mm256_sub_epi32(_mm256_cvtepu8_epi32(x), _mm256_set1_epi32(zero));
}

struct factors {
	struct nn_q8_scale a;
	struct nn_q8_scale b;
	struct nn_q8_scale out;
	bool halves_a;
	bool halves_b;
};

/* What an input gives to a sum. */
static inline ALWAYS_INLINE TARGET sums_q8 term(__m256i x, const struct nn_q8_scale *scale,
						bool halves)
{
	return halves ? (sums_q8)_mm256_slli_epi32(x, NN_Q8_SUM_BITS - 1) :
	       scale_q8((sums_q8)_mm256_slli_epi32(x, NN_Q8_SUM_BITS), scale);
}

static inline ALWAYS_INLINE TARGET sums_q8 operate_q8(enum nn_binary operation, __m256i x,
						      __m256i y, const struct factors *f)
{
	const __m256i negative = _mm256_srai_epi32(x, 31);
	sums_q8 product;

	if (operation == NN_BINARY_ADD || operation == NN_BINARY_SUB) {
		if (operation == NN_BINARY_SUB)
			y = _mm256_sub_epi32(_mm256_setzero_si256(), y);
		return scale_q8(term(x, &f->a, f->halves_a) + term(y, &f->b, f->halves_b),
				&f->out);
	}
	product = scale_q8((sums_q8)_mm256_mullo_epi32(x, y), &f->out);
	if (operation == NN_BINARY_MUL)
		return product;
	return (sums_q8)_mm256_blendv_epi8((__m256i)scale_q8((sums_q8)x, &f->a),
					   (__m256i)product, negative);
}

static inline ALWAYS_INLINE TARGET __m256i eight_q8(enum nn_binary operation, bool one_a,
						    bool one_b, const struct nn_binary_q8 *b,
						    const struct factors *f, size_t row, size_t i)
{
	const uint8_t *from_a = b->a + row * b->a_stride, *from_b = b->b + row * b->b_stride;
	const size_t left = b->count > i ? b->count - i : 0;

	if (!left)
		return _mm256_setzero_si256();
	return (__m256i)operate_q8(operation,
				   values_of(one_a ? from_a : from_a + i, one_a, left, b->flip,
					     b->a_zero),
				   values_of(one_b ? from_b : from_b + i, one_b, left, b->flip,
					     b->b_zero), f);
}

/* store_q8() wants the lanes of 0 ... 3 and 8 ... 11, then the others. */
static inline ALWAYS_INLINE TARGET void row_of_q8(enum nn_binary operation, bool one_a, bool one_b,
						  const struct nn_binary_q8 *given,
						  const struct factors *f, size_t row)
{
	/* A copy that no store can change as far as the compiler knows. */
	const struct nn_binary_q8 b = *given;
	uint8_t *out = b.out + row * b.count;

	for (size_t i = 0; i < b.count; i += WIDTH) {
		const __m256i x = eight_q8(operation, one_a, one_b, &b, f, row, i);
		const __m256i y = eight_q8(operation, one_a, one_b, &b, f, row, i + LANES);
		const size_t count = b.count - i;
		bytes_q8 bytes;

		store_q8((uint8_t *)&bytes, (sums_q8)_mm256_permute2x128_si256(x, y, 0x20),
			 (sums_q8)_mm256_permute2x128_si256(x, y, 0x31), &b.output, WIDTH);
		bytes ^= b.flip;
		if (count >= WIDTH)
			memcpy(out + i, &bytes, WIDTH);
		else
			memcpy(out + i, &bytes, count);
	}
}

static inline ALWAYS_INLINE TARGET void rows_of_q8(enum nn_binary operation,
						   const struct nn_binary_q8 *b,
						   const struct factors *f)
{
	for (size_t row = 0; row < b->rows; row++) {
		if (b->one_a)
			row_of_q8(operation, true, b->one_b, b, f, row);
		else if (b->one_b)
			row_of_q8(operation, false, true, b, f, row);
		else
			row_of_q8(operation, false, false, b, f, row);
	}
}

static TARGET void binary_q8(const struct nn_binary_q8 *b)
{
	const struct factors f = {
		splat_factor(&b->a_factor), splat_factor(&b->b_factor),
		splat_factor(&b->out_factor), nn_q8_halves(&b->a_factor),
		nn_q8_halves(&b->b_factor),
	};

	if (b->operation == NN_BINARY_ADD)
		rows_of_q8(NN_BINARY_ADD, b, &f);
	else if (b->operation == NN_BINARY_SUB)
		rows_of_q8(NN_BINARY_SUB, b, &f);
	else if (b->operation == NN_BINARY_MUL)
		rows_of_q8(NN_BINARY_MUL, b, &f);
	else
		rows_of_q8(NN_BINARY_PRELU, b, &f);
}

const struct nn_isa nn_isa_avx2 = {
	.name = "avx2",
	.lanes = LANES,
	.gemm_f32 = gemm_f32,
	.depthwise_f32 = depthwise_f32,
	.binary_f32 = binary_f32,
	.unary_f32 = unary_f32,
	.softmax_f32 = softmax_f32,
	.sum_f32 = sum_f32,
	.max_f32 = max_f32,
	.quantize_f32 = quantize_f32,
	.sum_row_f32 = sum_row_f32,
	.pairs = true,
	.gemm_q8 = gemm_q8,
	.depthwise_q8 = depthwise_q8,
	.binary_q8 = binary_q8,
	.sum_q8 = sum_q8,
	.max_q8 = max_q8,
	.lookup_q8 = lookup_q8,
};

#endif
