/* SPDX-License-Identifier: MIT */
#include "ops/float16.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

float nn_fp16_to_float(uint16_t fp16)
{
	uint32_t sign = (uint32_t)(fp16 & 0x8000) << 16, magnitude = fp16 & 0x7fff;

	if (magnitude >= 0x7c00)	/* infinity, NaN */
		return float_of(sign | 0x7f800000 | magnitude << 13);
	/*
	 * The exponent bias of fp16 is 112 lower than the bias of float, so a multiplication by
	 * 2^112 corrects the exponent, even of subnormal numbers.
	 */
	return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

uint16_t nn_float_to_fp16(float value)
{
	uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

	if (magnitude > 0x7f800000)	/* NaN becomes a quiet NaN */
		return sign | 0x7e00 | (uint16_t)(magnitude >> 13 & 0x3ff);
	if (magnitude >= 0x477ff000)	/* numbers that round to infinity */
		return sign | 0x7c00;
	if (magnitude < 0x38800000) {
		/*
		 * The fp16 result is subnormal. Adding 1/2 rounds the number to a multiple of
		 * 2^-24, the smallest fp16, because floats from 1/2 to 1 have this precision.
		 */
		uint32_t shifted = bits_of(float_of(magnitude) + 0.5f);

		return sign | (uint16_t)(shifted - 0x3f000000);
	}
	magnitude += 0xfff + (magnitude >> 13 & 1);
	return sign | (uint16_t)((magnitude - 0x38000000) >> 13);
}

/* ---- Arrays ---- */

#if defined(__x86_64__)

#define LANES 8
#define TARGET __attribute__((target("avx2,f16c")))

/*
 * The functions eights_to_*() convert arrays between fp16 and float, eight elements at a time. The
 * functions eights_to_*() return the number of converted elements, a multiple of eight.
 */
static TARGET size_t eights_to_fp32(const char *fp16, float *floats, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		_mm256_storeu_ps(floats + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(fp16 + 2 * i))));
	return i;
}

static TARGET size_t eights_to_fp16(const float *floats, char *fp16, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		_mm_storeu_si128((__m128i *)(fp16 + 2 * i),
				 _mm256_cvtps_ph(_mm256_loadu_ps(floats + i),
						 _MM_FROUND_TO_NEAREST_INT));
	return i;
}

/* Returns whether the CPU can convert eight fp16 numbers at a time; every CPU with AVX2 can. */
static bool converts_eights(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2");
}

#else

static bool converts_eights(void)
{
	return false;
}

static size_t eights_to_fp32(const char *fp16, float *floats, size_t count)
{
	(void)fp16;
	(void)floats;
	(void)count;
	return 0;
}

static size_t eights_to_fp16(const float *floats, char *fp16, size_t count)
{
	(void)fp16;
	(void)floats;
	(void)count;
	return 0;
}

#endif

void nn_fp16_to_fp32(const void *fp16, float *floats, size_t count)
{
	const char *from = fp16;

	for (size_t i = converts_eights() ? eights_to_fp32(from, floats, count) : 0; i < count;
	     i++) {
		uint16_t bits;

		memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
		floats[i] = nn_fp16_to_float(bits);
	}
}

void nn_fp32_to_fp16(const float *floats, void *fp16, size_t count)
{
	char *to = fp16;

	for (size_t i = converts_eights() ? eights_to_fp16(floats, to, count) : 0; i < count;
	     i++) {
		uint16_t bits = nn_float_to_fp16(floats[i]);

		memcpy(to + i * sizeof(bits), &bits, sizeof(bits));
	}
}
