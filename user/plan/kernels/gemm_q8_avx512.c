/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with AVX-512 VNNI.
 */
#if defined(__x86_64__)

#include <string.h>

#include "plan/kernels/q8_avx512.h"

#define TARGET NN_TARGET_VNNI
#define VI __m512i
#define LANES 16
#define ROWS 14
#define TILES(T) T(14, 2) T(7, 2) T(4, 2) T(2, 2) T(1, 2) T(14, 1) T(7, 1) T(4, 1) T(2, 1) T(1, 1)
#define SPLAT_BYTE(x) _mm512_set1_epi8((char)(x))
#define SPLAT(x) _mm512_set1_epi32(x)
#define XOR(a, b) _mm512_xor_si512(a, b)
#define LOAD(p) _mm512_loadu_si512(p)
#define DPBUSD(sums, a, b) _mm512_dpbusd_epi32(sums, a, b)
#define SCALE scale
#define STORE_ONE store_one
#define STORE_TWO q8_store_two
#define PRODUCT nn_gemm_q8_avx512

/* Number of rows that are summed at a time, as many as the result has lanes. */
#define SUM_ROWS 16

/* Number of rows whose corrections for the weights' zero point are computed at a time. */
#define BLOCK (SUM_ROWS * ROWS)

/*
 * Splits x and y into quarters of 128 bits, and adds neighbouring quarters. The quarters of the
 * result are x0 + x1, x2 + x3, y0 + y1 and y2 + y3.
 */
static inline ALWAYS_INLINE TARGET i32x16 sum_parts(i32x16 x, i32x16 y)
{
	return (i32x16)_mm512_shuffle_i32x4((__m512i)x, (__m512i)y, 0x88) +
	       (i32x16)_mm512_shuffle_i32x4((__m512i)x, (__m512i)y, 0xdd);
}

/*
 * Sums the lanes of each of sixteen vectors. Lane i of the result is the sum of all lanes of vector
 * i.
 */
static inline ALWAYS_INLINE TARGET i32x16 sum_lanes(i32x16 x[SUM_ROWS])
{
	/*
	 * After the first loop, each quarter of 128 bits has two partial sums of each of two
	 * original vectors. After the second loop, each quarter has one partial sum of each of four
	 * original vectors.
	 */
	UNROLL
	for (int i = 0; i < 8; i++)
		x[i] = (i32x16)_mm512_unpacklo_epi32((__m512i)x[2 * i], (__m512i)x[2 * i + 1]) +
		       (i32x16)_mm512_unpackhi_epi32((__m512i)x[2 * i], (__m512i)x[2 * i + 1]);
	UNROLL
	for (int i = 0; i < 4; i++)
		x[i] = (i32x16)_mm512_unpacklo_epi64((__m512i)x[2 * i], (__m512i)x[2 * i + 1]) +
		       (i32x16)_mm512_unpackhi_epi64((__m512i)x[2 * i], (__m512i)x[2 * i + 1]);
	x[0] = sum_parts(x[0], x[1]);
	x[1] = sum_parts(x[2], x[3]);
	return sum_parts(x[0], x[1]);
}

/*
 * Computes, for each of SUM_ROWS rows, the correction for the weights' zero point; the rows begin
 * `stride` bytes apart.
 */
static TARGET void correct_rows(const struct nn_gemm_q8 *g, const uint8_t *a, size_t stride,
				int32_t *corrections)
{
	const __m512i flip = _mm512_set1_epi8((char)g->a_flip);
	i32x16 sums[SUM_ROWS];

	UNROLL
	for (size_t i = 0; i < SUM_ROWS; i++)
		sums[i] = (i32x16){ 0 };
	for (size_t k = 0; k < g->depth; k += 64) {
		const size_t left = g->depth - k;
		const __mmask64 mask = left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
		const __m512i ones = _mm512_maskz_set1_epi8(mask, 1);

		UNROLL
		for (size_t i = 0; i < SUM_ROWS; i++) {
			const __m512i x = _mm512_maskz_loadu_epi8(mask, a + i * stride + k);

			sums[i] = (i32x16)_mm512_dpbusd_epi32((__m512i)sums[i],
							      _mm512_xor_si512(x, flip), ones);
		}
	}
	sums[0] = sum_lanes(sums) * -g->b_zero;
	memcpy(corrections, &sums[0], sizeof(sums[0]));
}

/*
 * Computes, for up to BLOCK rows, the corrections for the weights' zero point. If there are fewer
 * than SUM_ROWS rows, each row is summed separately.
 */
static void correct_block(const struct nn_gemm_q8 *g, const uint8_t *a, size_t rows,
			  int32_t *corrections)
{
	const size_t step = rows < SUM_ROWS ? 1 : SUM_ROWS;

	for (size_t i = 0; i < rows; i += step) {
		size_t first = rows - i < step ? rows - step : i;

		correct_rows(g, a + first * g->a_stride, rows < SUM_ROWS ? 0 : g->a_stride,
			     corrections + first);
	}
}

/* Stores scaled 32-bit values of one row as bytes, for up to 16 columns. */
static inline ALWAYS_INLINE TARGET void store_one(uint8_t *c, __m512i x,
						  const struct nn_q8_output *o, size_t columns)
{
	x = _mm512_add_epi32(x, _mm512_set1_epi32(o->zero));
	x = _mm512_max_epi32(x, _mm512_set1_epi32(o->low));
	x = _mm512_min_epi32(x, _mm512_set1_epi32(o->high));
	if (columns >= LANES)
		_mm_storeu_si128((__m128i *)c, _mm512_cvtepi32_epi8(x));
	else
		_mm_mask_storeu_epi8(c, (__mmask16)((1u << columns) - 1), _mm512_cvtepi32_epi8(x));
}

static inline ALWAYS_INLINE TARGET __m512i scale(__m512i acc, const struct nn_q8_scale *s,
						  bool positive)
{
	const struct q8_scale loaded = q8_scale_load(s);

	return q8_scaled(acc, &loaded, positive);
}

#include "plan/kernels/gemm_q8_vnni.h"

#endif
