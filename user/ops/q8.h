/* SPDX-License-Identifier: MIT */
/*
 * Functions that treat the two 8-bit quantised encodings, uint8 and int8, in the same way. Flipping
 * the sign bit of an int8 value converts it to a uint8 value whose zero point is 128 larger.
 */
#ifndef NN_OPS_Q8_H
#define NN_OPS_Q8_H

#include "ops/op.h"

/* An 8-bit encoding, where real = scale * ((byte ^ flip) - zero). */
struct nn_q8 {
	uint8_t flip;
	int32_t zero;
};

static inline struct nn_q8 nn_q8_of(const struct nn_tensor *t)
{
	bool is_signed = t->type != NN_TENSOR_QUANT8_ASYMM;

	return (struct nn_q8){
		.flip = is_signed ? 0x80 : 0,
		.zero = t->zero_point + (is_signed ? 128 : 0),
	};
}

/* Returns the real value of a stored byte divided by the scale, between -255 and 255. */
static inline int32_t nn_q8_value(struct nn_q8 q, uint8_t byte)
{
	return (byte ^ q.flip) - q.zero;
}

/* Returns the stored byte for a real value divided by the scale, saturated. */
static inline uint8_t nn_q8_stored(struct nn_q8 q, int32_t value)
{
	int64_t flipped = (int64_t)value + q.zero;

	return (uint8_t)(flipped < 0 ? 0 : flipped > UINT8_MAX ? UINT8_MAX : flipped) ^ q.flip;
}

/*
 * Returns the elements `data` of a tensor in the format that kernels with multiplications need.
 * Floats are returned unchanged; quantised values are returned as int16_t with the zero point
 * subtracted. Returns NULL if memory runs out.
 */
const void *nn_q8_widened(struct nn_run *r, const struct nn_tensor *t, const void *data);

#endif /* NN_OPS_Q8_H */
