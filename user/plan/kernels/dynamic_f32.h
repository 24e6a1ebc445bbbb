/* SPDX-License-Identifier: MIT */
/*
 * Conversions for the products of the operations DYNAMIC_*, for one instruction set: from floats to
 * int8, and from sums of int8 to floats. This file is included after elementwise_f32.h and uses the
 * macros of elementwise_f32.h.
 */
#if !defined(CLAMP) || !defined(LANES) || !defined(MAX) || !defined(MIN) || !defined(SPLAT) || \
    !defined(TARGET) || !defined(VF)
#error "dynamic_f32.h needs: CLAMP LANES MAX MIN SPLAT TARGET VF"
#endif

#include "ops/dynamic.h"

static inline ALWAYS_INLINE TARGET void bytes_of_f32(bool is_tensor, const struct nn_dynamic *d,
						     const float *x, size_t count, uint8_t *to)
{
	const VF factor = SPLAT(d->factor), offset = SPLAT(d->offset);
	const VF low = SPLAT(d->low), high = SPLAT(d->high);
	const VF to_even = SPLAT(0x1.8p23f), half = SPLAT(NN_DYNAMIC_HALF);
	const int32_t zero = nn_dynamic_added(d);

	for (size_t i = 0; i < count; i += LANES) {
		const VF in = load_f32(x + i, count - i);
		VF v = MIN(MAX(is_tensor ? in / factor : offset + in * factor, low), high);
		bytes_f32 bytes;

		if (is_tensor)
			v = v + to_even - to_even;
		else
			v = v + (VF)(((bits_f32)v & 0x80000000) | (bits_f32)half);
		bytes = BYTES_OF_INTS(__builtin_convertvector(v, ints_f32) + zero);
		if (count - i >= LANES)
			memcpy(to + i, &bytes, LANES);
		else
			memcpy(to + i, &bytes, count - i);
	}
}

static TARGET void dynamic_bytes(const struct nn_dynamic *d, const float *x, size_t count, uint8_t *to)
{
	if (d->is_tensor)
		bytes_of_f32(true, d, x, count, to);
	else
		bytes_of_f32(false, d, x, count, to);
}

static TARGET void dynamic_floats(const struct nn_dynamic_sums *s)
{
	const VF scale = SPLAT(s->scale), low = SPLAT(s->low), high = SPLAT(s->high);

	for (size_t i = 0; i < s->count; i += LANES) {
		bits_f32 sums, weights;
		VF value;

		memcpy(&sums, s->sums + i, sizeof(sums));
		memcpy(&weights, s->weights + i, sizeof(weights));
		sums -= (uint32_t)s->zero * weights;
		value = __builtin_convertvector((ints_f32)sums, VF) * (scale * LOAD(s->scales + i)) +
			LOAD(s->biases + i);
		store_f32(s->out + i, CLAMP(value, low, high), s->count - i);
	}
}
