/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for any CPU, with the compiler's vector types of four floats.
 */
#include <math.h>
#include <string.h>

#include "plan/kernels/isa.h"
#include "plan/kernels/quant8.h"

typedef float vector __attribute__((vector_size(16)));

#define TARGET
#define LANES 4
#define ROWS 4
#define VF vector
#define LOAD(p) load(p, LANES)
#define LOAD_SOME(p, n) load(p, n)
#define STORE(p, v) store(p, v, LANES)
/* Taking n modulo LANES does not change n, but shows GCC 14 that n < LANES. */
#define STORE_SOME(p, v, n) store(p, v, (n) % LANES)
#define SPLAT(x) ((vector){ x, x, x, x })
#define MADD(a, b, c) ((a) * (b) + (c))
#define ADD(a, b) ((a) + (b))
#define SQRT(a) roots(a)
#define MIN(a, b) select_smaller(a, b)
#define MAX(a, b) (-select_smaller(-(a), -(b)))
#define TILES(T) T(4, 2) T(1, 2) T(4, 1) T(1, 1)

static inline vector load(const float *p, size_t n)
{
	vector v = { 0 };

	memcpy(&v, p, n * sizeof(*p));
	return v;
}

static inline void store(float *p, vector v, size_t n)
{
	memcpy(p, &v, n * sizeof(*p));
}

/* Returns a if a is smaller than b, otherwise b. */
static inline vector select_smaller(vector a, vector b)
{
	typedef int32_t mask __attribute__((vector_size(16)));
	mask smaller = (mask)(a < b);

	return (vector)(((mask)a & smaller) | ((mask)b & ~smaller));
}

static inline vector roots(vector a)
{
	return (vector){ sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3]) };
}

#include "plan/kernels/loops_f32.h"

/* ---- Bytes ---- */

typedef int32_t sums_q8 __attribute__((vector_size(16)));
typedef int16_t wide_q8 __attribute__((vector_size(16)));

#define Q8_ROWS 4
#define DOT(a, b) dot(a, b)
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

#if defined(__SSE2__)

#include <emmintrin.h>

static inline sums_q8 dot(wide_q8 a, wide_q8 b)
{
	return (sums_q8)_mm_madd_epi16((__m128i)a, (__m128i)b);
}

#else

static inline sums_q8 dot(wide_q8 a, wide_q8 b)
{
	typedef int16_t half __attribute__((vector_size(8)));
	const half ae = __builtin_shufflevector(a, a, 0, 2, 4, 6);
	const half ao = __builtin_shufflevector(a, a, 1, 3, 5, 7);
	const half be = __builtin_shufflevector(b, b, 0, 2, 4, 6);
	const half bo = __builtin_shufflevector(b, b, 1, 3, 5, 7);

	return __builtin_convertvector(ae, sums_q8) * __builtin_convertvector(be, sums_q8) +
	       __builtin_convertvector(ao, sums_q8) * __builtin_convertvector(bo, sums_q8);
}

#endif

#define MULTIPLY_Q15(a, b) multiply_q15(a, b)

static inline wide_q8 multiply_q15(wide_q8 a, wide_q8 b)
{
	wide_q8 product;

	for (size_t i = 0; i < 2 * LANES; i++)
		product[i] = (int16_t)((a[i] * b[i] + (1 << 14)) >> 15);
	return product;
}

static inline sums_q8 multiply_q31(sums_q8 x, int32_t factor)
{
	for (size_t i = 0; i < LANES; i++)
		x[i] = (int32_t)(((int64_t)x[i] * factor + (1 << 30)) >> 31);
	return x;
}

/* Scales accumulators like q8_scaled() in q8_avx512.h. */
static inline sums_q8 scale_q8(sums_q8 acc, const struct nn_q8_scale *s)
{
	sums_q8 scaled;

	for (size_t i = 0; i < LANES; i++) {
		int64_t round = i % 2 ? s->round_odd[i / 2] : s->round_even[i / 2];
		int64_t product = (int64_t)acc[i] * 2 * s->multiplier[i] + round;
		int32_t high = (int32_t)(product >> 32);

		scaled[i] = (high - (acc[i] < 0 && s->shift[i])) >> (s->shift[i] & 31);
	}
	return scaled;
}

static inline void store_q8(uint8_t *out, sums_q8 x, sums_q8 y, const struct nn_q8_output *o,
			    size_t count)
{
	int32_t values[2 * LANES];

	memcpy(values, &x, sizeof(x));
	memcpy(values + LANES, &y, sizeof(y));
	for (size_t i = 0; i < count && i < 2 * LANES; i++) {
		int32_t value = values[i] + o->zero;

		value = value < o->low ? o->low : value;
		out[i] = (uint8_t)(value > o->high ? o->high : value);
	}
}

#include "plan/kernels/loops_q8.h"

const struct nn_isa nn_isa_plain = {
	.name = "plain",
	LOOPS_F32,
	LOOPS_Q8,
	GEMM_PAIRS,
	DEPTHWISE_PAIRS,
};
