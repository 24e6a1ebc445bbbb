/* SPDX-License-Identifier: MIT */
/*
 * Fixed-point arithmetic of the quantised kernels, bit-exact with the reference of the NNAPI:
 * multipliers, rounding shifts and transcendental functions.
 */
#ifndef NN_OPS_QUANT_H
#define NN_OPS_QUANT_H

#include "ops/op.h"

/* A real factor, encoded as value / 2^31 * 2^shift. The field `value` is in [2^30, 2^31), or 0. */
struct nn_multiplier {
	int32_t value;
	int32_t shift;
};

/*
 * The functions nn_quant_encode*() encode a real factor d. The function nn_quant_encode() accepts
 * any finite d >= 0, nn_quant_encode_below_one() only 0 < d < 1, and nn_quant_encode_above_one()
 * only d > 1. The functions nn_quant_encode*() return false for a factor that they do not accept.
 */
bool nn_quant_encode(double d, struct nn_multiplier *m);
bool nn_quant_encode_below_one(double d, struct nn_multiplier *m);
bool nn_quant_encode_above_one(double d, struct nn_multiplier *m);

/*
 * The function nn_srdhm() returns round(a * b / 2^31), and nn_srdhm16() returns round(a * b /
 * 2^15), saturated.
 */
int32_t nn_srdhm(int32_t a, int32_t b);
int16_t nn_srdhm16(int16_t a, int16_t b);

/* Divides x by 2^exponent, where exponent is 0 to 31, and rounds half away from zero. */
static inline int32_t nn_rdp(int32_t x, int32_t exponent)
{
	int64_t mask = (INT64_C(1) << exponent) - 1;
	int64_t remainder = x & mask, threshold = (mask >> 1) + (x < 0);

	return (x >> exponent) + (remainder > threshold);
}

static inline int16_t nn_saturate16(int64_t v)
{
	return (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
}

/*
 * Multiplies x by a factor that is encoded as in struct nn_multiplier. If the left shift of x
 * overflows, the shifted number wraps around.
 */
int32_t nn_mbqm(int32_t x, int32_t value, int32_t shift);

static inline int32_t nn_quant_scale(int32_t x, const struct nn_multiplier *m)
{
	return nn_mbqm(x, m->value, m->shift);
}

/*
 * Returns the largest |x| for which x * 2^shift fits in a fixed-point number with `integer_bits`
 * integer bits.
 */
int32_t nn_quant_radius(int32_t integer_bits, int32_t shift);

/*
 * Transcendental functions of a fixed-point number a, which has 32 or 16 bits, of which
 * `integer_bits` are integer bits. The results of the transcendental functions have no integer
 * bits: the raw value 2^31 or 2^15 stands for 1.
 */
int32_t nn_quant_exp_negative(int32_t a, uint32_t integer_bits);	/* a <= 0 */
int32_t nn_quant_logistic(int32_t a, uint32_t integer_bits);
int32_t nn_quant_tanh(int32_t a, uint32_t integer_bits);
int16_t nn_quant_logistic16(int16_t a, uint32_t integer_bits);
int16_t nn_quant_tanh16(int16_t a, uint32_t integer_bits);

/*
 * Computes 1 / (1 + a) for a in [0, 1]; a and the result are fixed-point numbers without integer
 * bits.
 */
int32_t nn_quant_one_over_one_plus(int32_t a);

/* Computes 1 / sqrt(v), encoded as a factor (*value and *shift) for nn_mbqm(). */
void nn_quant_inverse_sqrt(int32_t v, int32_t *value, int32_t *shift);

/* Returns the range of stored values of an 8-bit quantised type. */
void nn_quant_range(int32_t type, int32_t *low, int32_t *high);

/* Returns the stored value of a real number: rounded half away from zero, and saturated. */
int32_t nn_quantize(float real, float scale, int32_t zero_point, int32_t low, int32_t high);

/* Returns whether two 8-bit tensors have the same quantisation. */
static inline bool nn_tensor_quantised_alike(const struct nn_tensor *a, const struct nn_tensor *b)
{
	return a->type == b->type && a->scale == b->scale && a->zero_point == b->zero_point;
}

/*
 * Fills a table that maps each stored value of the 8-bit tensor `from` to the stored value of `to`
 * for the same real value, rounded and saturated.
 */
void nn_requantize_table(const struct nn_tensor *from, const struct nn_tensor *to,
			 uint8_t table[256]);

/*
 * Fills a table like nn_requantize_table() for an input and the output of CONCATENATION, with the
 * rounding that CONCATENATION requires.
 */
void nn_concatenation_table(const struct nn_tensor *in, const struct nn_tensor *out,
			    uint8_t table[256]);

/*
 * The function nn_fused_range() sets *low and *high to the range of a quantised output after a
 * fused activation (FuseCode), and nn_fused_range_float() to the range of a float output. The
 * functions nn_fused_range*() return false if `activation` is not a valid FuseCode.
 */
bool nn_fused_range(int32_t activation, int32_t type, float scale, int32_t zero_point,
		    int32_t *low, int32_t *high);
bool nn_fused_range_float(int32_t activation, float *low, float *high);

#endif /* NN_OPS_QUANT_H */
