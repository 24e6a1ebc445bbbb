/* SPDX-License-Identifier: MIT */
/* Dot products, computed as several partial sums that compilers keep in vector registers. */
#ifndef NN_OPS_DOT_H
#define NN_OPS_DOT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define NN_DOT_LANES 16

typedef float nn_dot_four __attribute__((vector_size(16)));

static inline nn_dot_four nn_dot_load(const float *p)
{
	nn_dot_four v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void nn_dot_store(float *p, nn_dot_four v)
{
	memcpy(p, &v, sizeof(v));
}

/*
 * Computes a < b ? a : b in each lane of the vectors. In a lane where a or b is NaN, the result is
 * b.
 */
static inline nn_dot_four nn_dot_least(nn_dot_four a, nn_dot_four b)
{
#ifdef __SSE__
	return _mm_min_ps(a, b);
#else
	typedef int32_t mask __attribute__((vector_size(16)));
	const mask is = (mask)(a < b);

	return (nn_dot_four)((is & (mask)a) | (~is & (mask)b));
#endif
}

/* Computes a > b ? a : b in each lane of the vectors. */
static inline nn_dot_four nn_dot_largest(nn_dot_four a, nn_dot_four b)
{
#ifdef __SSE__
	return _mm_max_ps(a, b);
#else
	typedef int32_t mask __attribute__((vector_size(16)));
	const mask is = (mask)(a > b);

	return (nn_dot_four)((is & (mask)a) | (~is & (mask)b));
#endif
}

static inline float nn_dot_f32(const float *a, const float *b, size_t count)
{
	nn_dot_four s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
	float sum = 0;
	size_t i = 0;

	for (; i + NN_DOT_LANES <= count; i += NN_DOT_LANES) {
		s0 += nn_dot_load(a + i) * nn_dot_load(b + i);
		s1 += nn_dot_load(a + i + 4) * nn_dot_load(b + i + 4);
		s2 += nn_dot_load(a + i + 8) * nn_dot_load(b + i + 8);
		s3 += nn_dot_load(a + i + 12) * nn_dot_load(b + i + 12);
	}
	for (; i < count; i++)
		sum += a[i] * b[i];
	s0 = s0 + s1 + (s2 + s3);
	return sum + (s0[0] + s0[1] + (s0[2] + s0[3]));
}

/*
 * Three sums, from which nn_dot_q8_sum() computes the dot product of 8-bit values minus their zero
 * points.
 */
struct nn_dot_q8 {
	int64_t products;
	/* the sum of the elements of each factor */
	int64_t a;
	int64_t b;
};

/* Number of 8-bit products that a vector lane can sum without overflow. */
#define NN_DOT_BLOCK (1 << 14)

#define NN_DOT_Q8(name, type)								\
static inline struct nn_dot_q8 name(const type *a, const type *b, size_t count)	\
{											\
	struct nn_dot_q8 dot = { 0, 0, 0 };						\
	size_t i = 0;									\
											\
	while (i + NN_DOT_LANES <= count) {						\
		int32_t products[NN_DOT_LANES] = { 0 }, as[NN_DOT_LANES] = { 0 };	\
		int32_t bs[NN_DOT_LANES] = { 0 };					\
		size_t end = count - i < NN_DOT_BLOCK ? count : i + NN_DOT_BLOCK;	\
											\
		for (; i + NN_DOT_LANES <= end; i += NN_DOT_LANES)			\
			for (size_t k = 0; k < NN_DOT_LANES; k++) {			\
				products[k] += a[i + k] * b[i + k];			\
				as[k] += a[i + k];					\
				bs[k] += b[i + k];					\
			}								\
		for (size_t k = 0; k < NN_DOT_LANES; k++) {				\
			dot.products += products[k];					\
			dot.a += as[k];							\
			dot.b += bs[k];							\
		}									\
	}										\
	for (; i < count; i++) {							\
		dot.products += a[i] * b[i];						\
		dot.a += a[i];								\
		dot.b += b[i];								\
	}										\
	return dot;									\
}

NN_DOT_Q8(nn_dot_i8, int8_t)
NN_DOT_Q8(nn_dot_u8, uint8_t)

/*
 * Returns the sum of (a[i] - a_zero) * (b[i] - b_zero) over `count` elements, computed from the
 * sums in *dot.
 */
static inline int64_t nn_dot_q8_sum(const struct nn_dot_q8 *dot, int32_t a_zero, int32_t b_zero,
				    size_t count)
{
	return dot->products - b_zero * dot->a - a_zero * dot->b +
	       (int64_t)a_zero * b_zero * (int64_t)count;
}

/* Returns the dot product of two arrays of 16-bit values, modulo 2^32. */
static inline uint32_t nn_dot_i16(const int16_t *restrict a, const int16_t *restrict b,
				  size_t count)
{
	uint32_t acc[NN_DOT_LANES] = { 0 };
	uint32_t sum = 0;
	size_t i = 0;

	for (; i + NN_DOT_LANES <= count; i += NN_DOT_LANES)
		for (size_t lane = 0; lane < NN_DOT_LANES; lane++)
			acc[lane] += (uint32_t)(a[i + lane] * b[i + lane]);
	for (; i < count; i++)
		sum += (uint32_t)(a[i] * b[i]);
	for (size_t lane = 0; lane < NN_DOT_LANES; lane++)
		sum += acc[lane];
	return sum;
}

#endif /* NN_OPS_DOT_H */
