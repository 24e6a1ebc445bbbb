/* SPDX-License-Identifier: MIT */
/*
 * Int8 matrix product with VNNI on vectors of 256 bits. The includer defines TARGET, DPBUSD and
 * PRODUCT, which gemm_q8_vnni.h describes.
 */
#if !defined(DPBUSD) || !defined(PRODUCT) || !defined(TARGET)
#error "gemm_q8_vnni256.h needs: DPBUSD PRODUCT TARGET"
#endif

#include <string.h>

#include "plan/kernels/q8_avx2.h"

#define VI __m256i
#define LANES 8
#define ROWS 6
#define TILES(T) T(6, 2) T(3, 2) T(1, 2) T(6, 1) T(3, 1) T(1, 1)
#define SPLAT_BYTE(x) _mm256_set1_epi8((char)(x))
#define SPLAT(x) _mm256_set1_epi32(x)
#define XOR(a, b) _mm256_xor_si256(a, b)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define SCALE q8_scaled_avx2
#define STORE_ONE q8_store_one_avx2
#define STORE_TWO q8_store_two_avx2
#define BLOCK (16 * ROWS)

/* Returns the correction of one row for the weights' zero point. */
static TARGET int32_t correct_row(const struct nn_gemm_q8 *g, const uint8_t *a)
{
	const __m256i flip = _mm256_set1_epi8((char)g->a_flip), zero = _mm256_setzero_si256();
	__m256i sums = zero;
	uint64_t parts[sizeof(__m256i) / sizeof(uint64_t)], sum = 0;
	size_t k = 0;

	for (; k + sizeof(__m256i) <= g->depth; k += sizeof(__m256i)) {
		const __m256i x = _mm256_loadu_si256((const __m256i *)(a + k));

		sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_xor_si256(x, flip), zero));
	}
	memcpy(parts, &sums, sizeof(parts));
	UNROLL
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum += parts[i];
	for (; k < g->depth; k++)
		sum += a[k] ^ g->a_flip;
	return (int32_t)sum * -g->b_zero;
}

static TARGET void correct_block(const struct nn_gemm_q8 *g, const uint8_t *a, size_t rows,
				 int32_t *corrections)
{
	for (size_t i = 0; i < rows; i++)
		corrections[i] = correct_row(g, a + i * g->a_stride);
}

#include "plan/kernels/gemm_q8_vnni.h"
