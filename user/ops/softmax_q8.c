/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of 8-bit values. A value's difference from the maximum is one of only 256 numbers, so a
 * table contains the exponentials of all differences.
 */
#include <math.h>
#include <string.h>

#include "ops/softmax_q8.h"

#define SUM_BITS 12	/* integer bits of the sum of exponentials */

bool nn_softmax_q8_factor(const struct nn_tensor *in, float beta, struct nn_multiplier *factor)
{
	double d = (double)beta * (double)in->scale * 0x1p26;

	return nn_quant_encode_above_one(fmin(d, INT32_MAX), factor);
}

void nn_softmax_q8_init(struct nn_softmax_q8 *s, uint8_t flip, const struct nn_multiplier *factor)
{
	int32_t radius = nn_quant_radius(5, factor->shift);

	memset(s, 0, sizeof(*s));
	s->flip = flip;
	for (int32_t d = 0; d < 256 && d <= radius; d++) {
		int32_t shifted = (int32_t)((uint32_t)-d << factor->shift);

		s->exponentials[d] = nn_quant_exp_negative(nn_srdhm(shifted, factor->value), 5);
		s->parts[d] = nn_rdp(s->exponentials[d], SUM_BITS);
	}
}

static inline uint8_t largest(const uint8_t *in, size_t size, size_t stride, uint8_t flip)
{
	uint8_t max = 0;

	for (size_t i = 0; i < size; i++) {
		uint8_t value = in[i * stride] ^ flip;

		max = value > max ? value : max;
	}
	return max;
}

/* Parameters for dividing exponentials by their sum. */
struct divisor {
	uint32_t reciprocal;
	/* exponent of the power of two by which products are divided */
	int32_t exponent;
	uint32_t half;			/* half of 2^exponent */
};

static struct divisor divisor_of(uint64_t sum)
{
	int32_t headroom, exponent;

	/* Avoid a sum of 0: the sum is at least 2^19, unless another thread changes the input. */
	sum += !sum;
	/*
	 * Normalise the sum: sum = 2^(SUM_BITS - headroom) * (1 + x), where x in [0, 1) has 31
	 * bits.
	 */
	headroom = __builtin_clzll(sum) - 32;
	sum = headroom >= 0 ? sum << headroom : sum >> -headroom;
	/* If the divisor's exponent is above 31, every quotient is 0. */
	exponent = SUM_BITS - headroom + 31 - 8;
	if (exponent > 31)
		return (struct divisor){ 0 };
	return (struct divisor){
		.reciprocal = (uint32_t)nn_quant_one_over_one_plus((int32_t)(sum -
									     (UINT64_C(1) << 31))),
		.exponent = exponent,
		.half = exponent ? UINT32_C(1) << (exponent - 1) : 0,
	};
}

/*
 * Computes nn_rdp() of nn_srdhm() for non-negative numbers, for which both functions round half up.
 */
static inline uint8_t divide(uint32_t exponential, const struct divisor *by)
{
	uint32_t product = (uint32_t)(((uint64_t)by->reciprocal * exponential + (1 << 30)) >> 31);
	uint32_t value = (product + by->half) >> by->exponent;

	return (uint8_t)(value > 255 ? 255 : value);
}

/*
 * Returns the difference of a value from the maximum, which is the index in the tables. An index
 * has 8 bits, even if another thread changes the input during the call.
 */
static inline uint8_t distance(const struct nn_softmax_q8 *s, uint8_t max, uint8_t value)
{
	return (uint8_t)(max - (value ^ s->flip));
}

/*
 * With fewer than FEW elements, the exponential of each element is divided by the sum. With at
 * least FEW elements, each of the 256 exponentials in the table is divided once.
 */
#define FEW 256

/*
 * Computes the softmax of fewer than FEW elements. Compilers vectorise the loops that contain no
 * table lookups.
 */
static inline __attribute__((always_inline))
void run_few(const struct nn_softmax_q8 *s, const uint8_t *in, uint8_t *out, size_t size,
	     size_t stride, uint8_t max)
{
	uint32_t exponentials[FEW], sum = 0;
	uint8_t results[FEW];
	struct divisor by;

	for (size_t i = 0; i < size; i++)
		exponentials[i] = (uint32_t)s->exponentials[distance(s, max, in[i * stride])];
	for (size_t i = 0; i < size; i++)
		sum += (exponentials[i] + (1 << (SUM_BITS - 1))) >> SUM_BITS;
	by = divisor_of(sum);
	for (size_t i = 0; i < size; i++)
		results[i] = divide(exponentials[i], &by) ^ s->flip;
	for (size_t i = 0; i < size; i++)
		out[i * stride] = results[i];
}

static inline __attribute__((always_inline))
void run(const struct nn_softmax_q8 *s, const uint8_t *in, uint8_t *out, size_t size, size_t stride)
{
	const uint8_t max = largest(in, size, stride, s->flip);
	uint8_t results[256];
	struct divisor by;
	uint64_t sum = 0;

	if (size < FEW) {
		run_few(s, in, out, size, stride, max);
		return;
	}
	for (size_t i = 0; i < size; i++)
		sum += (uint64_t)s->parts[distance(s, max, in[i * stride])];
	by = divisor_of(sum);
	for (size_t d = 0; d < sizeof(results); d++)
		results[d] = divide((uint32_t)s->exponentials[d], &by) ^ s->flip;
	for (size_t i = 0; i < size; i++)
		out[i * stride] = results[distance(s, max, in[i * stride])];
}

void nn_softmax_q8(const struct nn_softmax_q8 *s, const uint8_t *in, uint8_t *out, size_t size,
		   size_t stride)
{
	/* Pass the stride 1 as a constant, so that the compiler vectorises the loops. */
	if (stride == 1)
		run(s, in, out, size, 1);
	else
		run(s, in, out, size, stride);
}
